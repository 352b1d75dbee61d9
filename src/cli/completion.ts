import { CATALOGUE } from '../diagnostics/catalogue.ts'
import { type Command, defineCommand, UsageError } from './define.ts'
import { readArgs } from './read-args.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

/** Prints a shell completion script; options are taken from the help of each command. */
export function completionOf(commands: () => readonly Command[]): Command {
  return defineCommand({
    name: 'completion',
    summary: 'print a shell completion script',
    help: `portcullis completion bash|zsh|fish

Prints the completion script for a shell:

  bash   portcullis completion bash > /etc/bash_completion.d/portcullis
  zsh    portcullis completion zsh > "\${fpath[1]}/_portcullis"
  fish   portcullis completion fish > ~/.config/fish/completions/portcullis.fish

Exit code: 0, or 2 for a usage error.`,
    run: (args, { out }) => {
      const { positionals } = readArgs({ args: [...args], allowPositionals: true })
      const [word, ...more] = positionals
      const shell = SHELLS.find((one) => one === word)
      if (shell === undefined || more.length > 0) {
        throw new UsageError('specify a shell: bash, zsh or fish')
      }
      out(SCRIPTS[shell](commands()))
      return 0
    },
  })
}

export const SCRIPTS: Readonly<
  Record<(typeof SHELLS)[number], (commands: readonly Command[]) => string>
> = {
  bash: (commands) => `# bash completion for portcullis
_portcullis() {
  local word=\${COMP_WORDS[COMP_CWORD]} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')} help" -- "$word"))
    return
  fi
  case \${COMP_WORDS[1]} in
${commands.map((one) => `    ${one.name}) options="${optionsOf(one).join(' ')}" ;;`).join('\n')}
    help) COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$word")); return ;;
  esac
  local before=\${COMP_WORDS[COMP_CWORD-1]} values=
  case "\${COMP_WORDS[1]} $before" in
${valueCases(commands)}
  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
    return
  fi
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _portcullis portcullis
`,
  zsh: (commands) => `#compdef portcullis
_portcullis() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
${commands.map((one) => `    ${one.name}) _arguments '*:file:_files' ${optionsOf(one).map(quoted).join(' ')} ;;`).join('\n')}
    help) _describe command commands ;;
  esac
}
_portcullis "$@"
`,
  fish: (commands) =>
    `# fish completion for portcullis
${commands
  .flatMap((one) => [
    `complete -c portcullis -n __fish_use_subcommand -f -a ${one.name} -d ${quoted(one.summary)}`,
    ...optionsOf(one)
      .filter((option) => option.startsWith('--'))
      .map(
        (option) =>
          `complete -c portcullis -n '__fish_seen_subcommand_from ${one.name}' -l ${option.slice(2)}`,
      ),
  ])
  .join('\n')}
`,
}

/** What may follow the name of a command or one of its options. */
function valueCases(commands: readonly Command[]): string {
  const formats = commands.flatMap(({ name, help }) => {
    const values = formatsIn(help)
    return values.length === 0 ? [] : [`    "${name} --format") values="${values.join(' ')}" ;;`]
  })
  const codes = CATALOGUE.flatMap((group) => group.codes.map(({ code }) => code)).join(' ')
  const explained = `    "explain explain") case $word in [A-Z]*) values="${codes}" ;; esac ;;`
  return [...formats, explained].join('\n')
}

/** The values of `--format` that a help lists. */
function formatsIn(help: string): readonly string[] {
  return /--format ((?:\w+\|)+\w+)/.exec(help)?.[1]?.split('|') ?? []
}

/** The options in the help, in order. */
export function optionsOf({ help }: Command): readonly string[] {
  const found = help.matchAll(/(?<![\w-`])(-[a-zA-Z](?=,)|--[a-z][a-z-]*[a-z])/g)
  return [...new Set([...[...found].map(([option]) => option), '--help'])]
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
