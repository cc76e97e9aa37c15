"""A made-up secret for every format of the table, in a text where people would meet it.

The values are drawn from a seeded generator, so that no scanner of this repository takes them for real ones.
"""

import random
import string
from typing import NamedTuple

HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
ALNUM = string.ascii_letters + string.digits


class Sample(NamedTuple):
    """`secret` stands between `before` and `after`; `name` is the format that must find it."""

    name: str
    before: str
    secret: str
    after: str = ""

    @property
    def text(self) -> str:
        """The whole, as it would be typed or printed."""
        return f"{self.before}{self.secret}{self.after}"


def draw(length: int, alphabet: str = ALNUM, seed: int = 0) -> str:
    """A value with at least one small letter, capital and digit where the alphabet has them; always the same one."""
    dice = random.Random(f"{seed} {length} {alphabet}")
    while True:
        value = "".join(dice.choices(alphabet, k=length))
        if all(
            any(c in kind for c in value)
            for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits)
            if set(kind) & set(alphabet)
        ):
            return value


def _token(name: str, *parts: str) -> Sample:
    return Sample(name, "deploy --with ", "".join(parts), " --now")


TOKEN_SAMPLES = (
    _token("aws access key id", "AKIA", draw(16, UPPER)),
    _token("aws bedrock key", "ABSK", draw(110)),
    _token("aws bedrock short key", "bedrock-api-key-", draw(80)),
    _token("github token", "ghp_", draw(36)),
    _token("github token", "gho_", draw(36)),
    _token("github token", "ghs_", draw(36)),
    _token("github fine-grained token", "github_pat_", draw(22), "_", draw(59)),
    _token("gitlab token", "glpat-", draw(20)),
    _token("gitlab runner token", "GR1348941", draw(20)),
    _token("slack token", "xoxb-", draw(12, string.digits), "-", draw(12, string.digits), "-", draw(24)),
    _token("slack app token", "xapp-1-", draw(11, UPPER), "-", draw(13, string.digits), "-", draw(64, HEX)),
    _token("stripe key", "sk_live_", draw(24)),
    _token("webhook signing secret", "whsec_", draw(32)),
    _token("anthropic key", "sk-ant-", "api03-", draw(80)),
    _token("google api key", "AIza", draw(35)),
    _token("google access token", "ya29.", draw(60)),
    _token("google client secret", "GOCSPX-", draw(28)),
    _token("google refresh token", "1//0", draw(60)),
    _token("npm token", "npm_", draw(36)),
    _token("pypi token", "pypi-", "AgEIcHlwaS5vcmc", draw(80)),
    _token("hugging face token", "hf_", draw(34)),
    _token("json web token", "eyJ", draw(30), ".", draw(60), ".", draw(43)),
    _token("digitalocean token", "dop_v1_", draw(64, HEX)),
    _token("sendgrid key", "SG.", draw(22), ".", draw(43)),
    _token("mailgun key", "key-", draw(32, HEX)),
    _token("mailchimp key", draw(32, HEX), "-us12"),
    _token("twilio key", "SK", draw(32, HEX)),
    _token("square token", "sq0csp-", draw(43)),
    _token("shopify token", "shpat_", draw(32, HEX)),
    _token("discord bot token", "M", draw(23), ".", draw(6), ".", draw(27)),
    _token("dropbox token", "sl.", draw(120)),
    _token("heroku token", "HRKU-", draw(60)),
    _token("databricks token", "dapi", draw(32, HEX)),
    _token("vault token", "hvs.", draw(90)),
    _token("terraform cloud token", draw(14), ".atlasv1.", draw(67)),
    _token("pulumi token", "pul-", draw(40, HEX)),
    _token("doppler token", "dp.", "pt.", draw(43)),
    _token("linear key", "lin_api_", draw(40)),
    _token("notion token", "ntn_", draw(46)),
    _token("figma token", "figd_", draw(40)),
    _token("airtable token", "pat", draw(14), ".", draw(64, HEX)),
    _token("atlassian token", "ATATT3", draw(180)),
    _token("postman key", "PMAK-", draw(24, HEX), "-", draw(34, HEX)),
    _token("new relic key", "NRAK-", draw(27, UPPER)),
    _token("grafana cloud key", "glc_", draw(80)),
    _token("grafana service token", "glsa_", draw(32), "_", draw(8, HEX)),
    _token("sentry token", "sntrys_", draw(80)),
    _token("docker token", "dckr_pat_", draw(27)),
    _token("rubygems key", "rubygems_", draw(48, HEX)),
    _token("crates token", "cio", draw(32)),
    _token("fly token", "fm2_", draw(80)),
    _token("supabase key", "sbp_", draw(40, HEX)),
    _token("planetscale token", "pscale_tkn_", draw(43)),
    _token("tailscale key", "tskey-", "auth-", draw(16), "-", draw(32)),
    _token("cloudflare origin key", "v1.0-", draw(24, HEX), "-", draw(146, HEX)),
    _token("groq key", "gsk_", draw(52)),
    _token("xai key", "xai-", draw(80)),
    _token("perplexity key", "pplx-", draw(48)),
    _token("replicate token", "r8_", draw(37)),
    _token("langsmith key", "lsv2_pt_", draw(32, HEX), "_", draw(10, HEX)),
    _token("azure client secret", draw(3), "8Q~", draw(34)),
    _token("age key", "AGE-SECRET-KEY-1", draw(58, UPPER)),
    _token("artifactory key", "AKC", draw(69)),
    _token("contentful token", "CFPAT-", draw(43)),
    _token("dynatrace token", "dt0c01.", draw(24, UPPER), ".", draw(64, UPPER)),
    _token("facebook token", "EAA", draw(120)),
    _token("buildkite token", "bkua_", draw(40, HEX)),
    _token("netlify token", "nfp_", draw(36)),
    _token("typeform token", "tfp_", draw(44)),
    _token("adafruit key", "aio_", draw(28)),
    _token("razorpay key", "rzp_live_", draw(14)),
    _token("sonar token", "squ_", draw(40, HEX)),
    _token("nuget key", "oy2", draw(43, LOWER)),
    _token("yandex token", "AQVN", draw(35)),
    _token("alibaba key", "LTAI", draw(20)),
    _token("vercel token", "vcp_", draw(56)),
    _token("cloudflare token", "cfut_", draw(48)),
    _token("tencent key", "AKID", draw(32)),
)

CONTEXT_SAMPLES = (
    Sample("authorization header", 'curl -H "Authorization: Token ', draw(40, HEX), '" https://api.example.org'),
    Sample("authorization header", "Authorization:", draw(20)),
    Sample("bearer", "sent bearer ", draw(20), " to it"),
    Sample("basic", "proxy said Basic ", "Y2hpZWY6aHVudGVyMmh1bnRlcg==", "."),
    Sample("secret header", "-H 'X-Api-Key: ", draw(20, LOWER), "'"),
    Sample("secret header", "private-token: ", draw(20, LOWER)),
    Sample("session cookie", "PHPSESSID=", draw(26, LOWER), "; path=/"),
    Sample("cookie header", "Cookie: rack=", draw(26, LOWER), "; lang=en"),
    Sample("address password", "git clone https://admin:", "hunter2hunter", "@host/r"),
    Sample("address password", "psql postgres://u:", "p@ss=word", "@db/app"),
    Sample("address password with slashes", "amqp://u:", "pass/word+x", "@mq"),
    Sample("address password cut short", "redis://u:", "hunter2hunter", "$x@cache"),
    Sample("address token", "git clone https://", draw(24, LOWER), "@host/r"),
    Sample("address user token", "https://", draw(40, HEX), ":x-oauth-basic@host/r"),
    Sample("option", "deploy --token ", "swordfish9", " --now"),
    Sample("option", "deploy --auth-password=", "swordfish9", " --now"),
    Sample("option", "deploy --secret-access-key ", "swordfish9", " --now"),
    Sample("option", "deploy --api-key \\\n  '", "swordfish9", "'"),
    Sample("assignment", "PGPASSWORD=", "swordfish9", " psql"),
    Sample("assignment", 'curl "https://api/v1?x=1&token=', "swordfish9", '"'),
    Sample("assignment", "java -Dtoken=", "swordfish9", " -jar x.jar"),
    Sample("assignment", 'os.environ["API_TOKEN"]="', "swordfish9", '"'),
    Sample("named value", '{"user": "x", "password": "', "swordfish9", '"}'),
    Sample("named value", '{\\"apiKey\\":\\"', "swordfish9", '\\"}'),
    Sample("named value", "client_secret => '", "swordfish9", "'"),
    Sample("named bare value", "db:\n  password: ", "swordfish9", "\n  host: x"),
    Sample("named bare value", "PrivateKey = ", draw(43), "=\n"),
    Sample("configured value", "aws configure set aws_secret_access_key ", "swordfish9", " --profile x"),
    Sample("password after a colon", "user:x password:", "swordfish9", " ok"),
    Sample("key assignment", "export DEPLOY_KEY=", "swordfish9", " && x"),
    Sample("query parameter", "GET /blob?se=1&sig=", draw(43), "&sv=2"),
    Sample("request signature", 'Digest username="x", response="', draw(32, HEX), '"'),
    Sample("auth entry", "//registry/:_auth=", "Y2hpZWY6aHVudGVyMg", "\n"),
    Sample("docker auth", '{"auths": {"r": {"auth": "', "Y2hpZWY6aHVudGVyMg==", '"}}}'),
    Sample("user and password", "curl -sSu chief:", "swordfish9", " https://x"),
    Sample("user and password", "curl --proxy-user 'chief:", "swordfish9", "' https://x"),
    Sample("mysql password", "mysqldump -u root -p", "swordfish9", " app"),
    Sample("password argument", "docker login -u chief -p ", "swordfish9", " reg.example.org"),
    Sample("password argument", "sshpass -p", "swordfish9", " ssh host"),
    Sample("archive password", "7z x -p", "swordfish9", " a.7z"),
    Sample("archive password", "redis-cli -h cache -a ", "swordfish9", " ping"),
    Sample("openssl password", "openssl rsa -passin pass:", "swordfish9", " -in k"),
    Sample("samba password", "smbclient -U chief%", "swordfish9", " //host/share"),
    Sample("piped password", "echo ", "swordfish9", " | sudo -S id"),
    Sample("here-string password", "sudo -kS id <<< '", "swordfish9", "'"),
    Sample("changed password", "echo 'chief:", "swordfish9", "' | sudo chpasswd"),
    Sample("htpasswd argument", "htpasswd -bc users chief ", "swordfish9"),
    Sample("netrc", "machine h login chief password ", "swordfish9", " x"),
    Sample("netrc line", "machine h\n  login chief\n  password ", "swordfish9", "\n"),
    Sample("pgpass", "db.example.org:5432:*:chief:", "swordfish9", "\n"),
    Sample("sql password", "CREATE USER chief IDENTIFIED BY '", "swordfish9", "';"),
    Sample("password hash", "chief:$6$rounds=5000$saltsalt$", draw(86), ":19000:"),
    Sample("argon hash", "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$", draw(43)),
    Sample("xml element", "<sonar.password>", "swordfish9", "</sonar.password>"),
    Sample("docker env", "FROM x\nENV API_TOKEN ", "swordfish9", "\n"),
    Sample("login token", "vault login ", "swordfish9"),
    Sample("slack webhook", "https://hooks.slack.com/services/", "T0A1B2C3D/B0A1B2C3D/" + draw(24)),
    Sample("discord webhook", "https://discord.com/api/webhooks/123456789/", draw(68)),
    Sample("teams webhook", "https://x.webhook.office.com/webhookb2/", draw(32, HEX) + "@" + draw(32, HEX)),
    Sample("telegram bot token", "https://api.telegram.org/bot", "123456789:AA" + draw(33), "/getMe"),
    Sample("robot account", "docker user chief+builder:", draw(64, UPPER), "\n"),
    Sample("sk key", "OpenAI said: bad key ", "sk-proj-" + draw(48)),
)


def private_key(lines: int = 6, label: str = "RSA PRIVATE KEY") -> str:
    """An armoured key of `lines` full lines and a short one."""
    body = "\n".join([*(draw(64, ALNUM + "+/", seed) for seed in range(lines)), draw(22) + "=="])
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


OTHER_SAMPLES = (
    Sample("private key", "cat key\n", private_key(), "\ndone\n"),
    Sample("private key on one line", '{"private_key": "', private_key(3, "PRIVATE KEY").replace("\n", "\\n"), '"}'),
    Sample(
        "private key with a passphrase",
        "x\n",
        private_key(3).replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n", 1),
        "\n",
    ),
    Sample("random run", "saved as ", draw(40), " there"),
    Sample("random run", "saved as ", draw(20) + "/" + draw(24), " there"),
    Sample("random run", "ls /srv/cache/", draw(40), "/x"),
)

SAMPLES = TOKEN_SAMPLES + CONTEXT_SAMPLES + OTHER_SAMPLES


def windows(value: str, width: int = 6) -> set[str]:
    """Every stretch of `width` characters of `value`."""
    return {value[at : at + width] for at in range(len(value) - width + 1)}
