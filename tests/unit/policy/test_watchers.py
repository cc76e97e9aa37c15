"""What goes on until somebody ends it is known by its words; what ends by itself is left alone."""

import pytest

from mtbot.policy.readings import read
from mtbot.policy.watchers import watcher_in

GOES_ON = (
    "tail -f app.log",
    "tail -F app.log",
    "tail -n 5 -f app.log",
    "tail -20f app.log",
    "tail --follow=name app.log",
    "cd srv && tail -f app.log | grep error",
    "sh -c 'tail -f app.log'",
    "nohup tail -f app.log &",
    "ssh web tail -f /var/log/syslog",
    "sudo journalctl -u nginx -f",
    "journalctl -fu nginx",
    "journalctl --follow",
    "dmesg -w",
    "dmesg -Tw",
    "watch -n 1 df -h",
    "npm run dev",
    "npm --prefix web run dev",
    "npm start",
    "npm run watch:css",
    "pnpm dev",
    "yarn start",
    "bun run serve",
    "deno task dev",
    "npx vite",
    "vite --port 3000",
    "nodemon server.js",
    "next dev",
    "tsc --watch",
    "docker logs -f web",
    "docker logs --follow web",
    "docker stats",
    "docker events",
    "docker compose up",
    "docker compose -f stack.yml up web",
    "docker compose logs -f web",
    "docker-compose logs --follow",
    "docker-compose up",
    "docker compose watch",
    "podman logs -f web",
    "kubectl logs -f pod/web",
    "kubectl get pods -w",
    "kubectl port-forward svc/web 8080:80",
    "python3 -m http.server 8000",
    "python manage.py runserver",
    "uvicorn app:app --reload",
    "flask run",
    "php -S 127.0.0.1:8000",
    "mkdocs serve",
    "top",
    "htop",
    "ping example.org",
    "tcpdump -i eth0",
    "inotifywait -m .",
)

ENDS = (
    "tail -n 50 app.log",
    "tail -c 100 of-f",
    "tail x--follow",
    "timeout 10 tail -f app.log",
    "timeout 5s journalctl -f",
    "journalctl -u nginx -n 50",
    "journalctl -n 50 --no-pager -o short",
    "dmesg",
    "npm run build",
    "npm test",
    "npm install dev",
    "npm run",
    "npm",
    "yarn build",
    "pnpm run lint",
    "vite build",
    "tsc --noEmit",
    "docker logs --tail 50 web",
    "docker stats --no-stream",
    "docker ps -f name=web",
    "docker rm -f web",
    "docker build -f Dockerfile .",
    "docker events --until 1s",
    "docker compose up -d",
    "docker compose -f stack.yml ps",
    "docker compose -f stack.yml logs web",
    "docker compose -f stack.yml up --detach web",
    "docker-compose -f stack.yml pull",
    "podman rm -f web",
    "kubectl apply -f stack.yml",
    "kubectl logs pod/web",
    "kubectl get pods",
    "python3 -m json.tool x.json",
    "python3 script.py",
    "python manage.py migrate",
    "uvicorn --version",
    "watch --help",
    "php -v",
    "mkdocs build",
    "top -b -n 1",
    "top -bn1",
    "ping -c 3 example.org",
    "ping -c3 example.org",
    "tcpdump -c 10 -i eth0",
    "echo tail -f app.log",
    "grep 'npm run dev' README.md",
    "git commit -m 'run tail -f'",
    "ls",
    "",
)


@pytest.mark.parametrize("text", GOES_ON)
def test_a_watcher_is_known(text: str) -> None:
    """In a list, a pipe, behind wrappers and with its options in any order."""
    assert watcher_in(read(text))


@pytest.mark.parametrize("text", ENDS)
def test_what_ends_by_itself_is_none(text: str) -> None:
    """Also where the words of a watcher stand for something else."""
    assert watcher_in(read(text)) == ""


def test_it_is_named_in_a_few_words() -> None:
    """The model reads which of its commands it was."""
    assert watcher_in(read("cd srv && tail -f app.log")) == "tail -f app.log"
    assert len(watcher_in(read(f"tail -f {'a' * 300}"))) == 80
