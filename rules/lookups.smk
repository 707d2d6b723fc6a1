# Needs:  PLAN, RUNS and INPUTS of common.smk
# Leaves: what the rules look up by their wildcards: for all rules, then by stage. No rules.
from dmlbench.plan.catalogs.naming import complete

run_of = in_one_line(lambda wildcards: RUNS.find(wildcards.run))

# Their folders name what they are, so their dates say nothing about a run.
NAMED_BY_CONTENT = {"archives", "index", "split", "pixels", "pixel_table", "features", "best"}

# But a new index makes these again.
DATED = {("pack", "index"), ("split", "index")}


def inputs_of(rule):
    """The inputs of a rule that depend on the plan, by name."""
    look_up = in_one_line(getattr(INPUTS, rule))

    def found(wildcards):
        files = look_up(**dict(wildcards.items()))
        return {
            name: ancient(each) if name in NAMED_BY_CONTENT and (rule, name) not in DATED else each
            for name, each in files.items()
        }

    return found


def inputs_unless_finished(rule):
    """`inputs_of`, and none for a job that is done: its folder says what it was made from.

    Otherwise images that are missing, as where searches were published, would make it run again. A
    call that forces jobs needs the inputs.
    """
    look_up = inputs_of(rule)

    def found(wildcards):
        settings = workflow.dag_settings
        forced = settings.forcetargets or settings.forceall or settings.forcerun
        done = Path(RESULTS, paths.first(rule, **dict(wildcards.items()))).exists()
        return {} if done and not forced else look_up(wildcards)

    return found


def inputs_of_view(kind):
    """`inputs_of`, and an error if the view cannot be made; a job's call has checked it already."""
    look_up, check = inputs_of(kind), in_one_line(RENDER.check)

    def found(wildcards):
        if workflow.is_main_process:
            check(wildcards.study, kind, wildcards.get(kind))
        return look_up(wildcards)

    return found


def not_compared(look_up):
    """A parameter whose new values make no job run again, because the function takes the output.

    A new address does not download a file again, new counts do not read a data set again, a new
    measure does not train again. Threads of torch change the last digits: `--cores` limits a job's
    threads, not these.
    """
    return lambda wildcards, output: look_up(wildcards)


def threads_of(wildcards):
    return PLAN.threads(run_of(wildcards).spec)


def code_of_embedding(wildcards):
    """Digest of the code that embeds a run's images: a new network embeds no other's again."""
    spec = run_of(wildcards).spec
    if spec.network.frozen is not None:
        return stage_digest("embed.py")
    parts = {f"data/transforms/{step.name}" for step in spec.transforms.test}
    parts.add(f"networks/backbones/{spec.network.backbone.name}")
    return stage_digest("embed.py", *(f"dmlbench/{part}.py" for part in sorted(parts)))


# Data


@in_one_line
def archive_entry(wildcards):
    archives = entry("data set", wildcards.dataset, PLAN.datasets).archives
    return entry(f"archive of {wildcards.dataset}", wildcards.archive, archives)


@in_one_line
def weights_entry(wildcards):
    return entry("file of weights", wildcards.file, PLAN.weights)


def backbone_of_weights(wildcards):
    """The backbone that takes a file of weights."""
    named = PLAN.networks.values()
    takes = [each for each in named if each.weights and each.weights.file == wildcards.file]
    return takes[0].backbone.model_dump()


@in_one_line
def data_entry(wildcards):
    return PLAN.find_data(wildcards.data).entry


# Where a file comes from, in a catalogue.
SOURCES = {"urls", "note", "package", "at_most"}


@in_one_line
def reduced_to(wildcards):
    """What images are resized to before they are packed; the folder's name has its digest."""
    encoding = PLAN.find_data(wildcards.data).entry.encoding
    return encoding and encoding.reduced_to


@in_one_line
def expected_of(wildcards):
    """What an index must find: numbers of images and classes, and the contents of archive or folder.

    The layout's options are here as well, so that a new option indexes nothing again: the folder's
    name has their digest.
    """
    found = PLAN.find_data(wildcards.data)
    numbers = found.entry.model_dump(include={"images", "classes", "images_sha256"})
    options = {key: value for key, value in complete(found.entry.layout).items() if key != "name"}
    return numbers | {"contents": found.contents, "options": options}


def vectors_of(wildcards):
    """What list and matrix of a data set of features must be, and how they are read."""
    return {
        key: value
        for key, value in expected_of(wildcards).items()
        if key in ("contents", "options")
    }


@in_one_line
def network_of_features(wildcards):
    """The network that computes them: what identifies it."""
    return INPUTS.extracted(wildcards.data, wildcards.features)[1].known["network"]


@in_one_line
def threads_of_features(wildcards):
    return PLAN.threads_of_backbone(INPUTS.extracted(wildcards.data, wildcards.features)[1])


# Runs and searches


def prepared_train(wildcards):
    """Where a training writes the embeddings of its images, if its study measures them."""
    study = PLAN.studies[RUNS.row(wildcards.run).study]
    measured = "train" in {PLAN.measures[name].role for name in study.measures}
    return f"{RESULTS}/{paths.PREPARED_TRAIN}".format(run=wildcards.run) if measured else None


@in_one_line
def combined_metrics(wildcards):
    return PLAN.metrics(combinations.find(PLAN, wildcards.combination).runs[0])


def name_of_search(wildcards):
    return wildcards.search.rpartition("-")[0]


def search_facts(wildcards):
    return searches.search_facts(PLAN, name_of_search(wildcards))


def search_state(wildcards):
    """The folder in which the workers of a search share their trials."""
    return f"{RESULTS}/{paths.SEARCH.format(search=name_of_search(wildcards))}"


@in_one_line
def searched_threads(wildcards):
    return PLAN.threads(PLAN.spec(INPUTS.searched(wildcards.search).tuned))


# Studies


@in_one_line
def experiment_of(wildcards):
    name, _, _ = wildcards.experiment.rpartition("-")
    return entry("experiment", name, PLAN.experiments)


def facts_of(kind):
    """The facts from which a view is built."""
    look_up = in_one_line(views.facts)
    return lambda wildcards: look_up(PLAN, wildcards.study, kind, wildcards.get(kind))


def reported(category, file, kind):
    """An output that Snakemake's own report shows, by study and by the id of its view."""
    labels = {"study": "{study}", kind: f"{{{kind}}}"}
    caption = f"../workflow/report/{kind}.rst"
    return report(file, caption=caption, category=category, subcategory="{study}", labels=labels)


def printed_tables(wildcards):
    """The printed tables of a study."""
    return sorted(map(str, (CONFIG / "reference" / wildcards.study).glob("table_*.csv")))


def templates(*names):
    """Templates of pages: a changed template makes the page again."""
    folder = LIBRARY / "dmlbench" / "presentation" / "templates"
    return [os.path.relpath(folder / name) for name in names]
