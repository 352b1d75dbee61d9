import { type Command, type Terminal, UsageError } from './define.ts'

/** Runs a command with the arguments that follow its name: the exit code. */
export async function invoke(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    terminal.out(`${command.help}\n`)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    terminal.err(`portcullis ${command.name}: ${error.message}\n\n${command.help}\n`)
    return 2
  }
}
