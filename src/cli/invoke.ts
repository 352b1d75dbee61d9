import { type Command, InputError, type Terminal, UsageError } from './define.ts'
import { fitTo } from './wrap.ts'

/** Runs a command with the arguments after its name; returns the exit code. */
export async function invoke(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const { name, help, mayTakeLong = false } = command
  if (args.includes('--help') || args.includes('-h')) {
    terminal.out(`${fitTo(help, terminal.width)}\n`)
    return 0
  }
  const { startProgress } = terminal
  const stop = mayTakeLong ? startProgress?.(`portcullis ${name}`) : undefined
  try {
    return await command.run(args, stop === undefined ? terminal : stoppedBy(terminal, stop))
  } catch (error) {
    stop?.()
    if (error instanceof InputError) {
      terminal.err(`portcullis ${name}: ${error.message}\n`)
      return 1
    }
    if (!(error instanceof UsageError)) throw error
    terminal.err(fitTo(renderUsageError(name, error.message, help), terminal.width))
    return 2
  } finally {
    stop?.()
  }
}

/** Prints the synopsis instead of the full help, which would scroll the error out of view. */
export function renderUsageError(name: string, message: string, help: string): string {
  const [synopsis = ''] = help.split('\n\n', 1)
  return `portcullis ${name}: ${message}

${synopsis}

See \`portcullis help ${name}\` for all options.
`
}

/** Stops the progress display on output or when waiting for input. */
function stoppedBy(terminal: Terminal, stop: () => void): Terminal {
  const { out, err, readInput } = terminal
  return {
    ...terminal,
    out: (text) => {
      stop()
      out(text)
    },
    err: (text) => {
      stop()
      err(text)
    },
    readInput: () => {
      stop()
      return readInput()
    },
  }
}
