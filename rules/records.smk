# Needs:  PLAN, RUNS and INPUTS of common.smk, what lookups.smk leaves, the records of finished files
# Leaves: what is recorded of a stage's code with its results; lines at the end of a call about
#         finished files that stay although they would be others now, or of which nothing is known.
#         No rules.
import atexit

from dmlbench.plan.records import stale
from dmlbench.plan.specs import versions


def code_of(modules):
    """The code of a stage whose finished results no edit makes again: recorded with them.

    Args:
        modules: gives the stage's modules from wildcards.
    """
    return not_compared(lambda wildcards: stale.code_of(modules(wildcards)))


def modules_of_index(wildcards):
    return ["data/index", f"data/layouts/{data_entry(wildcards).layout.name}"]


def modules_of_drawing(wildcards):
    return ["data/generate", f"data/generators/{data_entry(wildcards).generator.name}"]


def modules_of_split(wildcards):
    return ["data/split", f"data/splits/{PLAN.split_rule(wildcards.split).name}"]


def modules_of_training(wildcards):
    return versions.sources(run_of(wildcards).spec)


def modules_of_trials(wildcards):
    facts = search_facts(wildcards)
    chosen = ["search/worker_job", f"search/strategies/{facts['strategy']['name']}"]
    return [*chosen, *versions.sources(facts["trial_specs"][0])]


def modules_of_experiment(wildcards):
    return [f"experiments/{experiment_of(wildcards).experiment.name}"]


def sources_of_rules(wildcards):
    """Rule -> digest of its code, for rules whose code does not depend on the job."""
    named = {rule.name: dict(rule.params.items()).get("source") for rule in workflow.rules}
    return {name: source for name, source in named.items() if isinstance(source, str)}


@atexit.register
def print_stale():
    """Name trainings of other code or other best values, and files without a record."""
    if not workflow.is_main_process or workflow.dag is None:
        return
    jobs = [job for job in workflow.dag.jobs if job.output and not workflow.dag.needrun(job)]
    for line in stale.lines([str(job.output[0]) for job in jobs], RESULTS):
        print(f"dmlbench: {line}", file=sys.stderr)
