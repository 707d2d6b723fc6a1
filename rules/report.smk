def report_of(studies):
    return [s for study in studies for s in scores_of(study)]
