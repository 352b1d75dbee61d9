/** The process as a command sees it; tests replace it. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly readInput: () => string
  /** The width in columns; undefined if the output is not a terminal. */
  readonly width: number | undefined
  readonly colour: boolean
  /** Shows progress until the returned function is called; undefined if it would not be visible. */
  readonly startProgress?: ((name: string) => () => void) | undefined
}

/** A subcommand of `portcullis`. */
export interface Command {
  readonly name: string
  /** One line in lower case, for the list of commands. */
  readonly summary: string
  /** The output of `portcullis NAME --help`. */
  readonly help: string
  /** Whether it may run for more than a second. */
  readonly mayTakeLong?: boolean
  /** The exit code: 0 for yes, 1 for no, 2 for a usage error, 3 if the result is not known. */
  readonly run: (args: readonly string[], terminal: Terminal) => number | Promise<number>
}

/** The exit code of a command whose result is neither yes nor no. */
export const NOT_KNOWN = 3

export function defineCommand(command: Command): Command {
  return command
}

/** A command was called incorrectly. */
export class UsageError extends Error {}

/** An input file of a command is invalid; the exit code is 1. */
export class InputError extends Error {}
