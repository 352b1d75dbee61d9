import { type Command, type Terminal, UsageError } from './define.ts'
import { fitTo } from './wrap.ts'

/** Runs a command with the arguments that follow its name: the exit code. */
export async function invoke(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    terminal.out(`${fitTo(command.help, terminal.width)}\n`)
    return 0
  }
  try {
    return await command.run(args, terminal)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    const said = `portcullis ${command.name}: ${error.message}\n\n${command.help}\n`
    terminal.err(fitTo(said, terminal.width))
    return 2
  }
}
