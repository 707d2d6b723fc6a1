# Needs:  PLAN and INPUTS of common.smk
# Leaves: what this call requests, and how much of a study exists. No rules.
from dmlbench.plan.studies.claims import read_claims
from dmlbench.plan.views.targets import unknown_target


def asked_targets():
    return set(workflow.dag_settings.targets) or {"all"}


def only_looks():
    """Whether no job of this call writes results: it prints what there is."""
    return not any(job.output for job in workflow.dag.needrun_jobs())


def only_judges():
    """Whether this call writes only verdicts on what there is, which another call need not wait for."""
    verdicts = ("audit", "agreement", "claims")
    jobs = workflow.dag.needrun_jobs()
    return all(job.rule.name.partition("_")[0] in verdicts for job in jobs if job.output)


def asked_for(study):
    """Whether this call makes all of a study."""
    return bool(asked_targets() & {study, "all"})


@in_one_line
def reproduced(wildcards):
    """The verdicts on every paper among the studies."""
    studies = pages.papers(PLAN, AUDITED, "printed numbers")
    return [made("agreement_document", study=study) for study in studies]


@in_one_line
def claimed(wildcards):
    """The verdicts on the claims of every paper among the studies."""
    studies = pages.papers(PLAN, CLAIMED, "claims")
    return [made("claims_document", study=study) for study in studies]


@in_one_line
def stand_ins(wildcards):
    """Study -> its long table: of this results folder, or else the published one.

    A rehearsal's is not a result.
    """
    found, real = {}, PLAN.configuration.rehearsal is None
    named = read_claims(CONFIG / "reference" / wildcards.study).stand_ins
    for study in dict.fromkeys(study for each in named for study in each.studies):
        file = made("aggregate", "scores", study=study)
        published = published_runs.file_of(PLAN, study, "scores")
        if real and Path(file.replace("<results>", RESULTS)).exists():
            found[study] = file
        elif published:
            found[study] = published
    return found


def so_far(study, files):
    """The existing files of a study, or all of them if the study is requested."""
    whole = asked_for(study)
    return [file for file in files if whole or Path(file.replace("<results>", RESULTS)).exists()]


@functools.cache
def scored_so_far(study):
    """Rows of a study's long table with their files of scores, as far as these exist."""
    rows = [(row, file.below("<results>")) for row, file in score_files.selected(PLAN, study)]
    there = set(so_far(study, [file for _, file in rows]))
    return [(row, file) for row, file in rows if file in there]


def experiments_so_far(study):
    """The tables of a study's experiments, as far as they exist."""
    return so_far(study, INPUTS.experiments(PLAN.studies[study].experiments))


def reported_studies():
    """The studies that this call requests, and those that earlier calls have finished."""
    return [study for study in PLAN.studies if asked_for(study) or finished_files(study)]


def finished_files(study):
    """The files of a study's page if all of them exist, else none."""
    files = [Path(file) for file in pages.files(PLAN, study)]
    return files if all(file.exists() for file in files) else []


@in_one_line
def report_inputs(wildcards):
    if "all" in asked_targets():
        PLAN.check_all_studies()
    return [file for study in filter(asked_for, PLAN.studies) for file in pages.files(PLAN, study)]


def reported_as_they_are(wildcards):
    """Study -> time of its newest file, and its files, for studies that only earlier calls requested.

    Their files are not inputs: a page must not train what this call did not request.
    """
    return {
        study: (max(file.stat().st_mtime_ns for file in files), list(map(str, files)))
        for study in reported_studies()
        for files in [finished_files(study)]
        if not asked_for(study)
    }


def searched(name):
    """The outcome of a search, whose folder is looked up if it is requested."""
    return lambda wildcards: made("search", "best", search=searches.folder(PLAN, name))


def refused_target(wildcards):
    """End the call with the targets closest to an unknown one."""
    named = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
    sys.exit(f"dmlbench: {unknown_target(PLAN, wildcards.target, named)}")
