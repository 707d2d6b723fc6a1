"""The command `dmlbench`: one way in to studies, runs, and numbers from elsewhere.

It is thin: every command calls one function of the library, or Snakemake, and then prints the call.
What takes long to import is imported by the command that needs it.
"""

import sys

import click
from click import shell_completion

from dmlbench.command.new import add_loss, add_network, new
from dmlbench.command.numbers import compare, referee, score
from dmlbench.command.runs import embed, export, search
from dmlbench.command.studies import check, demo, extend, forget, plan, raw, run_study, status
from dmlbench.errors import UserError
from dmlbench.image_folder import require_utf_8
from dmlbench.program import errors_in_one_line

_PROGRAM, _COMPLETE = "dmlbench", "_DMLBENCH_COMPLETE"


class _Commands(click.Group):
    """A group whose help has sections."""

    def format_commands(self, ctx, formatter) -> None:
        for title, section in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(each.name, each.get_short_help_str(60)) for each in section])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def commands() -> None:
    """Deep metric learning, reproduced and measured; `dmlbench COMMAND --help` says more."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell):
    """Print what makes SHELL complete commands.

    Use: eval "$(dmlbench completion bash)"
    """
    made = shell_completion.get_completion_class(shell)(commands, {}, _PROGRAM, _COMPLETE)
    # Not made.source(), which first looks for the shell, and for its version.
    click.echo(made.source_template % made.source_vars())


_SECTIONS = {
    "Your images": (new, raw, plan, run_study, status, forget, add_network, add_loss),
    "Published studies": (extend,),
    "A finished run": (search, embed, export),
    "Embeddings and scores from elsewhere": (score, compare, referee),
    "This project": (demo, check, completion),
}
for section in _SECTIONS.values():
    for each in section:
        commands.add_command(each)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a mistake of the user's ends it with one line."""
    given = sys.argv[1:] if arguments is None else arguments
    with errors_in_one_line():
        for each in given:
            require_utf_8(each)
        try:
            status = commands.main(
                given, prog_name=_PROGRAM, complete_var=_COMPLETE, standalone_mode=False
            )
        except click.UsageError as error:
            help_of = f"{error.ctx.command_path} --help" if error.ctx else f"{_PROGRAM} --help"
            raise UserError(f"{error.format_message()} (see {help_of})") from None
        except click.Abort:
            sys.exit(130)
    if status:
        sys.exit(status)
