"""What two well-kept scanners look for, restated as patterns: the mask must hide whatever they would find.

Each row names the scanner whose rule it follows. The patterns are facts about token formats in our own words, so
that neither scanner is needed to run the tests, and they are judged by Python's `re`, not by the engine under test.
"""

from typing import NamedTuple


class Oracle(NamedTuple):
    """A rule: text that matches `pattern` in full holds a credential."""

    scanner: str
    rule: str
    pattern: str


_RULES = {
    "detect-secrets": {
        "artifactory": r"AKC[a-zA-Z0-9]{69}",
        "aws": r"(AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}",
        "azure storage": r"AccountKey=[a-zA-Z0-9+/]{86}==",
        "basic auth": r"https?://[a-z]{3,8}:[a-zA-Z0-9._~-]{6,20}@[a-z]{3,8}\.org",
        "discord": r"[MNO][a-zA-Z0-9_-]{23,25}\.[a-zA-Z0-9_-]{6}\.[a-zA-Z0-9_-]{27}",
        "github": r"gh[pousr]_[A-Za-z0-9_]{36}",
        "gitlab": r"(glpat|gldt|glft|glsoat|glrt|glcbt|glptt|glimt|glagent)-[A-Za-z0-9_-]{20,50}",
        "gitlab runner": r"GR1348941[A-Za-z0-9_-]{20,50}",
        "jwt": r"eyJ[A-Za-z0-9_-]{20,40}\.[A-Za-z0-9_-]{20,40}\.[A-Za-z0-9_-]{20,43}",
        "keyword assigned": r"(api_?key|db_pass|password|passwd|private_key|secret|token)=[A-Za-z0-9!#%*+,./:?@^_~-]{6,24}",
        "keyword in JSON": r'"(apikey|service_key|password|passwd|secret|token)": "[A-Za-z0-9!#%*+,./:?@^_~-]{6,24}"',
        "keyword in YAML": r"(apikey|client_key|password|passwd|secret|token): [A-Za-z0-9][A-Za-z0-9!#%*+./?@^_~-]{8,24}",
        "mailchimp": r"[0-9a-f]{32}-us[0-9]{1,2}",
        "npm": r"//registry\.example/:_authToken=npm_[A-Za-z0-9]{36}",
        "openai": r"sk-[A-Za-z0-9_-]{0,10}[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
        "pypi": r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{70,90}",
        "sendgrid": r"SG\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9_-]{43}",
        "slack": r"xox[abposr]-([0-9]{9,12}-){1,3}[a-z0-9]{20,32}",
        "slack webhook": r"https://hooks\.slack\.com/services/T[A-Z0-9]{8}/B[A-Z0-9]{8}/[a-zA-Z0-9]{24}",
        "square": r"sq0csp-[0-9A-Za-z_-]{43}",
        "stripe": r"[rs]k_live_[0-9a-zA-Z]{24}",
        "telegram": r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}",
        "twilio": r"SK[0-9a-f]{32}",
    },
    "kingfisher": {
        "age": r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        "airtable": r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
        "anthropic": r"sk-ant-(api|admin)0[1-3]-[A-Za-z0-9_-]{93}AA",
        "atlassian": r"ATATT3[A-Za-z0-9_-]{180}=[A-F0-9]{8}",
        "aws secret": r"aws_secret_access_key(=| = )[A-Za-z0-9/+]{40}",
        "aws session": r"AWS_SESSION_TOKEN=[A-Za-z0-9/+]{100,200}==",
        "azure client secret": r"[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{34}",
        "bedrock": r"ABSK[A-Za-z0-9+/]{109,131}=",
        "buildkite": r"bkua_[a-f0-9]{40}",
        "cloudflare": r"cfut_[A-Za-z0-9_-]{41,64}",
        "cloudflare ca": r"v1\.0-[a-z0-9._-]{160,180}",
        # one that begins with a dash is known by its jumble alone, which thirty-eight noughts have not
        "cloudflare named": r"cloudflare_api_token: [A-Za-z0-9_][A-Za-z0-9_-]{37}[A-Za-z0-9]",
        "contentful": r"CFPAT-[A-Za-z0-9_-]{43}",
        "curl basic": r"curl -u [a-z]{3,8}:[A-Za-z0-9]{8,24}",
        "curl header": r"curl -H 'Authorization: (Bearer|Basic|Token) [A-Za-z0-9+/_-]{20,40}'",
        "databricks": r"dapi[a-f0-9]{32}",
        "digitalocean": r"do[opr]_v1_[a-f0-9]{64}",
        "docker": r"dckr_pat_[A-Za-z0-9_-]{27}",
        "doppler": r"dp\.(pt|ct|sa|scim|audit)\.[A-Za-z0-9]{43}",
        "dropbox": r"sl\.[A-Za-z0-9_-]{130,150}",
        "dynatrace": r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
        "figma": r"fig[dou]r?_[A-Za-z0-9_-]{40}",
        "fly": r"fm2_[A-Za-z0-9+/]{80,100}={0,2}",
        "github fine-grained": r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
        "generic password": r"my_password: \"super\$ecret[a-z]{2,8}\"",
        "generic secret": r"CLIENT_SECRET = \"[0-9a-f]{40}\"",
        "google": r"AIza[A-Za-z0-9_-]{35}",
        "google oauth": r"GOCSPX-[A-Za-z0-9_-]{28}",
        "grafana": r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}",
        "groq": r"gsk_[A-Za-z0-9]{52}",
        "heroku": r"HRKU-AA[A-Za-z0-9_-]{58}",
        "hugging face": r"hf_[A-Za-z]{34}",
        "linear": r"lin_api_[A-Za-z0-9]{40}",
        "mailgun": r"key-[a-f0-9]{32}",
        "new relic": r"NRAK-[A-Z0-9]{27}",
        "notion": r"ntn_[0-9]{11}[A-Za-z0-9]{35}",
        "perplexity": r"pplx-[A-Za-z0-9]{48}",
        "planetscale": r"pscale_(tkn|pw)_[A-Za-z0-9_.-]{43}",
        "postman": r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
        "pulumi": r"pul-[a-f0-9]{40}",
        "replicate": r"r8_[A-Za-z0-9]{37}",
        "rubygems": r"rubygems_[a-f0-9]{48}",
        "shopify": r"shp(at|ca|pa|ss)_[a-fA-F0-9]{32}",
        "sonar": r"sq[pua]_[a-f0-9]{40}",
        "supabase": r"sbp_[a-f0-9]{40}",
        "tailscale": r"tskey-(api|auth|client)-[A-Za-z0-9]{12,17}-[A-Za-z0-9]{32}",
        "terraform": r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{67}",
        "typeform": r"tfp_[A-Za-z0-9]{38,44}_[A-Za-z0-9]{12,14}",
        "slack app": r"xapp-[0-9]{1,3}-[0-9a-z]{10,15}-[0-9a-z]{10,15}-[0-9a-z]{10,66}",
        "slack session": r"xoxc-[0-9]{9,15}-[0-9]{9,15}-[0-9]{9,15}-[a-f0-9]{64}",
        "slack cookie": r"xoxd-[A-Za-z0-9_/+-]{100,120}={0,2}",
        "quay robot": r"[a-z]{3,8}\+[a-z]{3,8}:[A-Z0-9]{32,80}",
        "vault": r"hv[sbr]\.[A-Za-z0-9_-]{90,120}",
        "vercel": r"vc[iparck]_[A-Za-z0-9_-]{56}",
        "xai": r"xai-[A-Za-z0-9]{80}",
    },
}

ORACLES = tuple(Oracle(scanner, rule, pattern) for scanner, rules in _RULES.items() for rule, pattern in rules.items())
