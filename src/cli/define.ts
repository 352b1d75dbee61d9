/** What a command sees of the process: tests give it another one. */
export interface Terminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly readInput: () => string
  /** Columns; undefined where the output is no terminal. */
  readonly width: number | undefined
  readonly colour: boolean
  /** Shows that a command is at work until it is called; undefined where nobody would see it. */
  readonly startProgress?: ((name: string) => () => void) | undefined
}

/** A word behind `portcullis`. */
export interface Command {
  readonly name: string
  /** One line, lower case, for the list of commands. */
  readonly summary: string
  /** What `portcullis NAME --help` prints. */
  readonly help: string
  /** Whether its work may take more than a second. */
  readonly mayTakeLong?: boolean
  /** The exit code: 0 for yes, 1 for no, 2 for a usage error, 3 if it is not known. */
  readonly run: (args: readonly string[], terminal: Terminal) => number | Promise<number>
}

/** The exit code of a command that can say neither yes nor no. */
export const NOT_KNOWN = 3

export function defineCommand(command: Command): Command {
  return command
}

/** What is wrong with the way a command was called. */
export class UsageError extends Error {}

/** What is wrong with a file that a command was given: it ends with 1. */
export class InputError extends Error {}
