import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderJson, renderTerminal } from '../diagnostics/render.ts'
import { collector } from '../diagnostics/report.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { loadText, readText } from '../sources/file/load.ts'
import { checkModel, provenErrors } from './check-model.ts'
import { cookieSecretProblems } from './cookie-secret.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { loadConfiguration, prepareFor } from './load-configuration.ts'
import { FILES, FORMAT, filesOf, formatOf, readArgs } from './read-args.ts'

export const validate = defineCommand({
  name: 'validate',
  summary: 'check configuration files and print everything that is wrong with them',
  help: `portcullis validate FILE... [--profile agentgateway] [--format text|json]
portcullis validate -f FILE [--json]

Reads each FILE (- for the standard input) and the files that it names, as the
gateway would, and prints all errors and warnings with their places. Errors that
\`portcullis lint\` proves in policies, such as rules that can never match, are among
them; its warnings are not. FILE may also be a file or a folder of manifests: Gateways,
routes and policies of Kubernetes, read as the controller would.

  --profile agentgateway
                  FILE was written for agentgateway: also say, each once, what it means
                  there and not here
  --format text   for people (default)
  --format json   for programs: counts and messages as one object; --json for short

Exit code: 0 without errors, 1 with errors, 2 for a usage error.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const files = filesOf(read, 'name a file to check')
    const format = formatOf(read.values, ['text', 'json'])
    const differences = await differencesFor(read.values.profile)
    await prepareFor(...files)
    const checked = files.map((file) => {
      const text = textOf(file, terminal)
      const elsewhere = text === undefined ? [] : differences(text, nameOf(file))
      return { file, diagnostics: [...checkFile(file, text, terminal), ...elsewhere] }
    })
    const all = checked.flatMap(({ diagnostics }) => diagnostics)
    if (format === 'json') terminal.out(`${renderJson(all)}\n`)
    else for (const { file, diagnostics } of checked) print(file, diagnostics, terminal)
    return hasErrors(all) ? 1 : 0
  },
})

/** The short word for the same. */
export const check = defineCommand({
  ...validate,
  name: 'check',
  summary: 'the same as `validate`',
  help: validate.help.replaceAll('portcullis validate', 'portcullis check'),
})

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: { ...FILES, ...FORMAT, profile: { type: 'string' } },
  })
}

type Differences = (text: string, file: string) => readonly Diagnostic[]

/** What a file that was written for another gateway means there and not here. */
async function differencesFor(profile: string | undefined): Promise<Differences> {
  if (profile === undefined) return () => []
  if (profile !== 'agentgateway') {
    throw new UsageError(`unknown profile \`${profile}\`; available: agentgateway`)
  }
  const { agentgatewayDifferences } = await import('./profile-agentgateway.ts')
  return agentgatewayDifferences
}

/** Undefined for what is not one file, or cannot be read: whoever loads it says so. */
function textOf(file: string, { readInput }: Terminal): string | undefined {
  if (file === '-') return readInput()
  const found = readText(file)
  return 'text' in found ? found.text : undefined
}

function nameOf(file: string): string {
  return file === '-' ? 'standard-input' : file
}

/** What its reader says, what the gateway would say of it, and what is proven of its policies. */
function checkFile(
  file: string,
  text: string | undefined,
  { environment }: Terminal,
): readonly Diagnostic[] {
  const name = nameOf(file)
  const input = file === '-' ? text : undefined
  const { value: model, diagnostics: read } =
    input === undefined
      ? loadConfiguration(file, { environment }).result
      : loadText(input, name, { environment }).result
  const diagnostics = [...read, ...cookieSecretProblems(undefined, environment)]
  // Files that could not be read have been told of; what they hold is not known.
  if (model === undefined || hasErrors(diagnostics)) return diagnostics
  const all = collector()
  const found = [...checkModel(file, model), ...provenErrors(name, model, input)]
  for (const diagnostic of [...diagnostics, ...found]) all.report(diagnostic)
  return all.diagnostics()
}

function print(file: string, diagnostics: readonly Diagnostic[], terminal: Terminal): void {
  const { colour, width = 100 } = terminal
  if (diagnostics.length > 0) {
    terminal.out(`${renderTerminal(diagnostics, { colour, width })}\n\n`)
  }
  terminal.out(`${file}: ${renderCount(diagnostics)}\n`)
}
