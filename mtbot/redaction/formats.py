"""The table of secret formats: what a credential looks like, alone or beside the word that names it.

Two kinds, because they are matched differently. A *token* is recognised by its own shape, so the whole match is the
value. A *context* is a name, an option, a header or a place in a line beside which any value is secret; group 1 is
the value. Every pattern is RE2, matches UTF-8 bytes and never needs look-around.

A value is made of `VALUE` characters only. That alphabet holds no blank, quote, backslash, newline, nor any of
``; & | $ ( ) < > ` ``, so a mask can never hide that a shell would do something else at that point.
"""

from dataclasses import dataclass
from enum import StrEnum

VALUE = r"[\pL\pN._~+/=:@%!#*?,^{}\[\]-]"
_FIRST = r"[\pL\pN._~+/=:@%!#*?,^{}\[\]]"
"""A value that follows a blank does not begin with a dash, or it would be the next option."""

_QUOTE = r"""(?:\\{0,3}["'])?"""
_CLOSE = r"""(?:\\{0,3}["'])?\]?"""
_GAP = r"(?:[ \t]|\\\r?\n)+"
"""Blanks between an option and its value; a continued line counts, its newline stays outside the value."""

_PHRASE = r"(?:passw(?:or)?d|passphrase|passcode|(?:\b|[_.-]|db)pass|(?:\b|_)pwd)"
_KEYS = (
    r"(?:(?:api|app|access|secret|private|priv|auth|encryption|signing|master|account|shared|pre-?shared|session"
    r"|license|service|storage|client|deploy|webhook|server|subscription|hmac|security|admin|function)[_.-]?key)"
)
_NAME = rf"(?:{_PHRASE}|secret|token|credentials?|{_KEYS})[0-9]{{0,3}}"
_MYSQL = r"\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mysqlshow|mysqlcheck|mysqlpump|mariadb(?:-[a-z]+)?|xtrabackup)\b"
_REST = r"[^\n;&|]*?"


class Kind(StrEnum):
    """What has to be true, beside the pattern, before a match is masked."""

    PLAIN = "plain"
    """Nothing more than a letter or digit in the value."""
    WORDY = "wordy"
    """The name also occurs in prose and in paths: no plain word such as `none`, no path."""
    BASIC = "basic"
    """Decodes as base64 to something with a colon."""
    NUMBERED = "numbered"
    """The part after the colon is not a hash."""
    MIXED = "mixed"
    """The value has a digit."""
    ADDRESS = "address"
    """Not a port and a path."""
    OPTION = "option"
    """The option does not name a file or an identifier (`--secret-name`)."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format; `anchors` are lower-case bytes of which at least one occurs in every text that can match."""

    name: str
    pattern: str
    anchors: tuple[bytes, ...] = ()
    kind: Kind = Kind.PLAIN


TOKENS: tuple[Format, ...] = (
    Format("aws access key id", r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{12,}"),
    Format("aws bedrock key", r"ABSK[A-Za-z0-9+/]{40,}={0,2}"),
    Format("aws bedrock short key", r"bedrock-api-key-[A-Za-z0-9+/]{20,}={0,2}"),
    Format("github token", r"gh[pousr]_[A-Za-z0-9_]{16,}"),
    Format("github fine-grained token", r"github_pat_[A-Za-z0-9_]{20,}"),
    Format("gitlab token", r"gl(?:pat|ptt|dt|rtr?|cbt|agent|ft|imt|oas|soat|ffct|feat|wt)-[A-Za-z0-9_.=-]{16,}"),
    Format("gitlab runner token", r"GR1348941[A-Za-z0-9_-]{18,}"),
    Format("slack token", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%+/_-]{10,}={0,2}"),
    Format("slack app token", r"xapp-[0-9]{1,3}-[A-Za-z0-9-]{16,}"),
    Format("stripe key", r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    Format("webhook signing secret", r"whsec_[A-Za-z0-9+/_-]{20,}={0,2}"),
    Format("anthropic key", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    Format("google api key", r"AIza[A-Za-z0-9_-]{30,}"),
    Format("google access token", r"ya29\.[A-Za-z0-9_.-]{20,}"),
    Format("google client secret", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    Format("google refresh token", r"1//0[A-Za-z0-9_-]{30,}"),
    Format("npm token", r"npm_[A-Za-z0-9]{30,}"),
    Format("pypi token", r"pypi-Ag[A-Za-z0-9_-]{30,}"),
    Format("hugging face token", r"(?:hf|api_org)_[A-Za-z0-9]{24,}"),
    Format("json web token", r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,4}\.?"),
    Format("digitalocean token", r"do[opr]_v1_[a-f0-9]{32,}"),
    Format("sendgrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Format("mailgun key", r"key-[0-9a-f]{32}"),
    Format("mailchimp key", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    Format("twilio key", r"\bSK[0-9a-f]{32}"),
    Format("square token", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    Format("shopify token", r"shp(?:at|ca|pa|ss|tka)_[A-Fa-f0-9]{32,}"),
    Format("discord bot token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}"),
    Format("dropbox token", r"\bsl\.[A-Za-z0-9_-]{40,}"),
    Format("heroku token", r"HRKU-[A-Za-z0-9_-]{30,}"),
    Format("databricks token", r"\bdapi[0-9a-f]{32}(?:-[0-9])?"),
    Format("vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}"),
    Format("terraform cloud token", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    Format("pulumi token", r"\bpul-[0-9a-f]{40}"),
    Format("doppler token", r"\bdp\.[a-z]{2,5}\.(?:[a-z0-9_-]+\.)?[A-Za-z0-9]{30,}"),
    Format("linear key", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    Format("notion token", r"(?:ntn|secret)_[A-Za-z0-9]{40,}"),
    Format("figma token", r"fig[dou]r?_[A-Za-z0-9_-]{30,}"),
    Format("airtable token", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Format("atlassian token", r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{24,}"),
    Format("postman key", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Format("new relic key", r"NR(?:AK|JS|II|RA|SP)-[A-Za-z0-9_-]{19,}"),
    Format("grafana cloud key", r"glc_[A-Za-z0-9+/]{32,}={0,2}"),
    Format("grafana service token", r"glsa_[A-Za-z0-9_]{32,}"),
    Format("sentry token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    Format("docker token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    Format("rubygems key", r"rubygems_[a-f0-9]{40,}"),
    Format("crates token", r"\bcio[A-Za-z0-9]{32}"),
    Format("fly token", r"f(?:o1|m[12]r?)_[A-Za-z0-9+/=_-]{40,}"),
    Format("supabase key", r"sb(?:p|_secret)_[A-Za-z0-9_-]{20,}"),
    Format("planetscale token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}"),
    Format("tailscale key", r"tskey-[a-z]+-[A-Za-z0-9-]{14,}"),
    Format("cloudflare origin key", r"v1\.0-[a-z0-9._-]{100,}"),
    Format("groq key", r"gsk_[A-Za-z0-9]{40,}"),
    Format("xai key", r"xai-[A-Za-z0-9]{60,}"),
    Format("perplexity key", r"pplx-[A-Za-z0-9]{40,}"),
    Format("replicate token", r"\br8_[A-Za-z0-9]{30,}"),
    Format("langsmith key", r"lsv2_[a-z]{2}_[a-f0-9]{32}_[a-f0-9]{10}"),
    Format("azure client secret", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}"),
    Format("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    Format("artifactory key", r"\bAKC[A-Za-z0-9]{60,}"),
    Format("contentful token", r"CFPAT-[A-Za-z0-9_-]{40,}"),
    Format("dynatrace token", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Format("facebook token", r"\bEAA[A-Za-z0-9]{60,}"),
    Format("buildkite token", r"bk(?:ua|aj|ct)_[0-9a-f]{40}"),
    Format("netlify token", r"nf[pcou]_[A-Za-z0-9]{36,}"),
    Format("typeform token", r"tfp_[A-Za-z0-9_.-]{40,}"),
    Format("adafruit key", r"\baio_[A-Za-z0-9]{28}"),
    Format("razorpay key", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    Format("sonar token", r"\bsq[pua]_[a-f0-9]{40}"),
    Format("nuget key", r"\boy2[a-z0-9]{43}"),
    Format("yandex token", r"\b(?:AQVN|y0_)[A-Za-z0-9_-]{35,}"),
    Format("alibaba key", r"\bLTAI[A-Za-z0-9]{12,}"),
    Format("vercel token", r"vc[aciknpr]_[A-Za-z0-9_-]{40,}"),
    Format("cloudflare token", r"cf(?:ut|at)_[A-Za-z0-9_-]{40,}"),
    Format("tencent key", r"\bAKID[A-Za-z0-9]{28,}"),
)

CONTEXTS: tuple[Format, ...] = (
    Format(
        "authorization header",
        rf"(?i)authorization{_CLOSE}[ \t]*[:=][ \t]*{_QUOTE}"
        rf"(?:(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|bot|key|splunk|genie ?key)[ \t]+)?({VALUE}+)",
        (b"authorization",),
        Kind.WORDY,
    ),
    Format("bearer", rf"(?i)\bbearer[ \t]+{_QUOTE}({_FIRST}{VALUE}{{5,}})", (b"bearer",), Kind.WORDY),
    Format("basic", r"(?i)\bbasic[ \t]+([A-Za-z0-9+/_-]{6,}={0,2})", (b"basic",), Kind.BASIC),
    Format(
        "secret header",
        r"(?i)(?:\b|[nrt])(?:x-[a-z0-9-]*(?:key|token|secret|auth|password|signature)|(?:private|job|deploy|circle|csrf)-token"
        rf"|(?:api|xi-api|dd-api|subscription)-?key|apikey){_CLOSE}[ \t]*:[ \t]*{_QUOTE}({VALUE}+)",
        (b"key", b"token", b"secret", b"auth", b"password", b"signature"),
    ),
    Format(
        "session cookie",
        r"(?i)(?:sess(?:ion)?[_.-]?(?:id|key|token)?|\bsid|connect\.sid|remember_me|auth[_-]?cookie)"
        rf"=({VALUE}{{8,}})",
        (b"sess", b"sid", b"remember_me", b"auth"),
    ),
    Format("cookie header", rf"(?i)cookie[ \t]*:[ \t]*[\w.-]+=({VALUE}{{8,}})", (b"cookie",)),
    Format("address password", r"://[^/\s:@\"'‹›]*:([\pL\pN._~+=:@%!*,^{}\[\]-]+)@", (b"://",)),
    Format(
        "address password with slashes",
        r"://[^/\s:@\"'‹›]*:([\pL\pN._~+/=:%!#*?,^{}\[\]-]+)@",
        (b"://",),
        Kind.ADDRESS,
    ),
    Format(
        "address password cut short",
        r"://[^/\s:@\"'‹›;&|$()<>`]*:([\pL\pN._~+=%!#*?,^{}\[\]-]+)[;&|$()<>`][^\s/@\"']*@",
        (b"://",),
    ),
    Format("address token", r"://([A-Za-z0-9_.~%-]{20,})@", (b"://",)),
    Format("address user token", rf"://({VALUE}{{16,}}):(?:x-oauth-basic|x-token-auth)?@", (b"://",)),
    Format(
        "option",
        rf"(?i)--?(?:[a-z0-9]+[_-])*(?:{_PHRASE}|token|secret[a-z_-]*|{_KEYS}|credential)"
        rf"(?:=|{_GAP}){_QUOTE}({_FIRST}{VALUE}*)",
        (b"-",),
        Kind.OPTION,
    ),
    Format(
        "assignment",
        rf"(?i){_NAME}{_CLOSE}(?:={{1,3}}|%3d){_QUOTE}({VALUE}+)",
        (b"=", b"%3d"),
        Kind.WORDY,
    ),
    Format(
        "named value",
        rf"(?i){_NAME}(?:{_CLOSE}[ \t]+(?:=|:=|=>|==|:)[ \t]+|{_CLOSE}:[ \t]+|\\{{0,3}}[\"']\]?[ \t]*(?::|=>)[ \t]*|:)"
        rf"\\{{0,3}}[\"']({VALUE}+)",
        (b"=", b":"),
        Kind.WORDY,
    ),
    Format(
        "named bare value",
        rf"(?i){_NAME}(?:{_CLOSE}[ \t]+(?:=|:=|=>|==|:)[ \t]+|{_CLOSE}:[ \t]+|\\{{0,3}}[\"']\]?[ \t]*(?::|=>)[ \t]*)"
        rf"({_FIRST}{VALUE}{{5,}})",
        (b"=", b":"),
        Kind.WORDY,
    ),
    Format(
        "configured value",
        rf"(?i)\b(?:config|configure|variable|secrets?|env)[ \t]+(?:set|add|put)[ \t]+(?:--?[\w-]+[ \t]+)*"
        rf"[^\s;&|$()<>`\"']*{_NAME}[ \t]+{_QUOTE}({_FIRST}{VALUE}*)",
        (b"set", b"add", b"put"),
        Kind.OPTION,
    ),
    Format("password after a colon", rf"(?i)(?:passw(?:or)?d|passphrase|\bpwd):({VALUE}{{6,}})", (b":",)),
    Format("key assignment", rf"[A-Z0-9_]*KEY[0-9]{{0,3}}{_CLOSE}={_QUOTE}({VALUE}+)", (b"key",), Kind.WORDY),
    Format(
        "query parameter",
        rf"(?i)[?&;](?:key|sig|signature|auth|code|x-amz-signature|x-goog-signature|hmac)=({VALUE}{{16,}})",
        (b"=",),
    ),
    Format("request signature", r"(?i)\b(?:signature|response)=\\{0,3}\"?([0-9a-f]{32,})", (b"signature", b"response")),
    Format("auth entry", rf"(?i)_auth\"?[ \t]*=[ \t]*{_QUOTE}({VALUE}{{6,}})", (b"_auth",)),
    Format("docker auth", r"\\{0,3}\"auth\\{0,3}\"[ \t]*:[ \t]*\\{0,3}\"([A-Za-z0-9+/]{6,}={0,2})", (b'"auth',)),
    Format(
        "user and password",
        rf"(?:\bcurl\b|\bwget\b|\bhttps?\b){_REST}[ \t](?:-[a-zA-Z]*u[ \t]*|-U[ \t]*|--(?:proxy-)?user(?:=|[ \t]+)|-a[ \t]+)"
        rf"{_QUOTE}[^\s:\"';&|$()<>`]+:({VALUE}+)",
        (b"curl", b"wget", b"http"),
    ),
    Format("mysql password", rf"{_MYSQL}{_REST}[ \t]-p{_QUOTE}({VALUE}+)", (b"mysql", b"mariadb", b"xtrabackup")),
    Format(
        "password argument",
        rf"\b(?:sshpass|docker{_GAP}login|podman{_GAP}login|helm{_GAP}registry{_GAP}login|mongo(?:sh|dump|restore)?|az{_GAP}login)\b"
        rf"{_REST}[ \t]-p[ \t]*{_QUOTE}({_FIRST}{VALUE}*)",
        (b"sshpass", b"login", b"mongo"),
    ),
    Format(
        "archive password",
        rf"\b(?:7z[ar]?{_REST}[ \t]-p|(?:un)?zip{_REST}[ \t]-P[ \t]*|unrar{_REST}[ \t]-p|(?:redis-cli|valkey-cli){_REST}[ \t]-a[ \t]+"
        rf"|ldap[a-z]+{_REST}[ \t]-w[ \t]*){_QUOTE}({_FIRST}{VALUE}*)",
        (b"7z", b"zip", b"unrar", b"-cli", b"ldap"),
    ),
    Format("openssl password", rf"-(?:pass(?:in|out)?|k)[ \t]+{_QUOTE}pass:({VALUE}+)", (b"pass:",)),
    Format("samba password", rf"[ \t]-U[ \t]*{_QUOTE}[\w.\\/-]+%({VALUE}+)", (b"-u",)),
    Format(
        "piped password",
        rf"\b(?:echo|printf)[ \t]+(?:-[a-zA-Z]+[ \t]+)*{_QUOTE}({_FIRST}{VALUE}*)(?:\\n)?{_QUOTE}[ \t]*\|[ \t]*sudo\b[^\n;|&]*[ \t]-[a-zA-Z]*S",
        (b"sudo",),
    ),
    Format("here-string password", rf"\bsudo[ \t][^\n;|&]*-[a-zA-Z]*S[^\n;|&]*<<<[ \t]*{_QUOTE}({VALUE}+)", (b"sudo",)),
    Format(
        "changed password",
        rf"\b(?:echo|printf)[ \t]+(?:-[a-zA-Z]+[ \t]+)*{_QUOTE}[\w.-]+:({VALUE}+)(?:\\n)?{_QUOTE}[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd",
        (b"chpasswd",),
    ),
    Format(
        "htpasswd argument",
        rf"\bhtpasswd[ \t]+-[a-zA-Z]*b[a-zA-Z]*[ \t]+\S+[ \t]+\S+[ \t]+{_QUOTE}({VALUE}+)",
        (b"htpasswd",),
    ),
    Format("netrc", rf"\blogin[ \t]+\S+[ \t]+password[ \t]+({VALUE}+)", (b"password",)),
    Format("netrc line", rf"(?m)^[ \t]*password[ \t]+({VALUE}+)(?:[ \t]+account[ \t]+\S+)?[ \t]*\r?$", (b"password",)),
    Format("pgpass", rf"(?m)^[\w.*/-]+:(?:[0-9]{{2,5}}|\*):[\w.*-]+:[\w.*@-]+:({VALUE}+)\r?$", (b":",)),
    Format(
        "sql password",
        rf"(?i)\b(?:identified[ \t]+by|password)[ \t]+(?:password[ \t]+)?[\"']({VALUE}+)",
        (b"by", b"password"),
    ),
    Format(
        "password hash",
        r"\$(?:1|2[abxy]?|5|6|7|y|gy|apr1)\$(?:rounds=[0-9]+\$)?(?:[./A-Za-z0-9]+\$)*([./A-Za-z0-9]{20,})",
        (b"$",),
    ),
    Format("argon hash", r"\$argon2[a-z]*\$[a-z0-9=,$]+\$[A-Za-z0-9+/]+\$([A-Za-z0-9+/]{16,})", (b"$argon2",)),
    Format("xml element", rf"(?i)<[\w:.-]*(?:{_PHRASE}|secret|token|{_KEYS})[^<>\n]*>({VALUE}+)</", (b"</",)),
    Format("docker env", rf"(?im)^[ \t]*ENV[ \t]+\w*(?:{_NAME}|key)[ \t]+{_QUOTE}({VALUE}+)", (b"env",)),
    Format(
        "login token",
        rf"\b(?:vault[ \t]+login|npm[ \t]+adduser|login[ \t]+--with-token[ \t]*<<<)[ \t]+{_QUOTE}({_FIRST}{VALUE}{{7,}})",
        (b"login", b"adduser"),
    ),
    Format(
        "slack webhook",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{16,})",
        (b"hooks.slack",),
    ),
    Format(
        "discord webhook", r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/([A-Za-z0-9_-]{16,})", (b"discord",)
    ),
    Format("teams webhook", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{16,})", (b"webhook.office",)),
    Format("telegram bot token", r"(?:^|[^0-9])([0-9]{6,12}:[A-Za-z0-9_-]{32,50})", (b":",), Kind.NUMBERED),
    Format("robot account", r"[a-z0-9._-]+\+[a-z0-9._-]+:([A-Z0-9]{32,})", (b"+",)),
    Format("sk key", r"(?:^|[^A-Za-z0-9]|\\[nrt])(sk-[A-Za-z0-9_-]{16,})", (b"sk-",), Kind.MIXED),
)
