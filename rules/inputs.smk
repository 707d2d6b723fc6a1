# Needs:  PLAN and the look-ups of common.smk
# Leaves: inputs and parameters of the rules of data, runs and searches. No rules.


def archive_of(wildcards):
    """The digests that identify an archive."""
    return archive_entry(wildcards).model_dump(exclude=SOURCES)


def weights_of_file(wildcards):
    """The digest that identifies a file of weights."""
    return weights_entry(wildcards).model_dump(exclude=SOURCES)


# Snakemake does not compare the values of functions that take the output. So a new address does not
# download a file again, and new counts do not read a data set again.
def sources_of_archive(wildcards, output):
    return archive_entry(wildcards).model_dump(include=SOURCES)


def sources_of_weights(wildcards, output):
    return weights_entry(wildcards).model_dump(include=SOURCES)


def counts_of(wildcards, output):
    """The numbers of images and classes that an index must have."""
    return data_entry(wildcards).entry.model_dump(include={"images", "classes"})


def archives_of(wildcards):
    found = data_entry(wildcards)
    if found.entry.folder:
        return [os.path.expanduser(found.entry.folder)]
    if found.entry.generator:
        return ["<results>/data/drawn/{data}.zip"]
    return [f"<results>/data/raw/{found.name}/{name}" for name in found.entry.archives]


def prepared_train(wildcards, output):
    """Where a training writes the embeddings of its images, if its study measures them.

    It takes the output, as those above do, so that a new measure trains nothing again.
    """
    study = PLAN.studies[row_of(wildcards).study]
    measured = "train" in {PLAN.measures[name].role for name in study.measures}
    return str(Path(output[0]).parent / PREPARED_TRAIN) if measured else None


def spec_of(wildcards):
    return run_of(wildcards).spec


def threads_of(wildcards):
    return PLAN.threads(spec_of(wildcards))


def code_of_embedding(wildcards):
    """Digest of the code that embeds a run's images: a new network embeds no other's again."""
    spec = spec_of(wildcards)
    parts = {f"data/transforms/{step.name}" for step in spec.transforms.test}
    parts.add(f"networks/backbones/{spec.network.backbone.name}")
    return stage_digest("embed.py", *(f"dmlbench/{part}.py" for part in sorted(parts)))


def weights_input(spec):
    """The file of weights that a training starts from; no input if there is none."""
    weights = spec.network.weights
    return {"weights": f"<results>/weights/{weights.file}"} if weights else {}


def weights_of(wildcards):
    return weights_input(spec_of(wildcards))


def images_input(row, spec):
    """Index, split and packed pixels of a training's images.

    Their folder names what they are, so their dates say nothing about a run.
    """
    folder = f"<results>/data/{PLAN.data(row.dataset).folder}"
    return {
        "index": ancient(f"{folder}/images.parquet"),
        "split": ancient(f"{folder}/splits/{naming.slug(spec.split)}.parquet"),
        **pixels_input(row, spec),
    }


def images_of(wildcards):
    return images_input(row_of(wildcards), spec_of(wildcards))


def pixels_input(row, spec):
    """The packed pixels that a network takes as input."""
    folder = f"<results>/data/{PLAN.data(row.dataset).folder}"
    stem = f"{folder}/pixels-{spec.network.pixels}-{spec.network.mode}"
    return {"pixels": ancient(f"{stem}.npy"), "pixel_table": ancient(f"{stem}.parquet")}


def best_of(wildcards):
    """The best values of a run's search; no input for most runs."""
    search = PLAN.search_of(row_of(wildcards))
    return (
        {"best": ancient(f"<results>/{searches.folder(PLAN, search)}/best.yaml")} if search else {}
    )


def searched(name):
    """The outputs of a search, as the input of its target by name."""
    return lambda wildcards: f"<results>/{searches.folder(PLAN, name)}/best.yaml"


def name_of_search(wildcards):
    return wildcards.search.rpartition("-")[0]


def search_facts(wildcards):
    return searches.facts(PLAN, name_of_search(wildcards))


def search_state(wildcards):
    """The folder in which the workers of a search share their trials."""
    return f"{RESULTS}/searches/{name_of_search(wildcards)}"


def searched_spec(wildcards):
    return PLAN.spec(search_of(wildcards).tuned)


def searched_images(wildcards):
    return images_input(search_of(wildcards).tuned, searched_spec(wildcards))


def searched_weights(wildcards):
    return weights_input(searched_spec(wildcards))


def workers_of(wildcards):
    """The outputs of a search's workers."""
    workers = range(search_of(wildcards).workers)
    return [f"<results>/searches/{wildcards.search}/workers/{worker}.yaml" for worker in workers]


def measured_embeddings(wildcards):
    """The embeddings that a measure uses: those of training images are in a separate file."""
    role = measure_of(wildcards).role
    file = "train_embeddings" if role == "train" else "embeddings"
    return f"<results>/runs/{{run}}/{file}.parquet"


def combined_embeddings(wildcards):
    runs = combination_of(wildcards).runs
    return [f"<results>/runs/{run.folder}/embeddings.parquet" for run in runs]


def combined_metrics(wildcards):
    return PLAN.metrics(combination_of(wildcards).runs[0])
