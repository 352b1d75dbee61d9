import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderJson, renderTerminal } from '../diagnostics/render.ts'
import { collector } from '../diagnostics/report.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import { loadText, readText } from '../sources/file/load.ts'
import { fetchAnalysis } from './admin-client.ts'
import { checkModel } from './check-model.ts'
import { cookieSecretProblems } from './cookie-secret.ts'
import { defineCommand, type Terminal, UsageError } from './define.ts'
import { loadConfiguration, prepareFor } from './load-configuration.ts'
import { provenErrors } from './proven-errors.ts'
import { ADMIN, FILES, FORMAT, filesOf, formatOf, readArgs } from './read-args.ts'

export const validate = defineCommand({
  name: 'validate',
  summary: 'alias of `check`',
  mayTakeLong: true,
  help: `portcullis validate FILE... [--profile agentgateway] [--format text|json]
portcullis validate -f FILE [--json]
portcullis validate [FILE] --admin URL [--format text|json]

Reads each FILE (- for standard input) and the files that it references, as the gateway
does, and prints all errors and warnings with their locations. This includes policy errors
that \`portcullis lint\` proves, such as rules that can never match, but not its warnings.
FILE can also be a file or folder of Kubernetes manifests (Gateways, routes and policies),
which are read as the controller does.

  --profile agentgateway
                  FILE was written for agentgateway: also list, once each, the settings
                  that have a different meaning here
  --admin URL     validate FILE on a running gateway, with its files and keys and without
                  \`config\` of FILE; without FILE, print the diagnostics of the running
                  configuration. Sends the token in PORTCULLIS_ADMIN_TOKEN
  --format text   text output (default)
  --format json   counts and messages as one object; short form: --json

Exit code: 0 without errors, 1 with errors, 2 for a usage error.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const format = formatOf(read.values, ['text', 'json'])
    if (read.values.admin !== undefined) return validateServed(read.values.admin, read, terminal)
    const files = filesOf(read, 'specify at least one file')
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

async function validateServed(
  admin: string,
  { values, positionals }: ReturnType<typeof parse>,
  terminal: Terminal,
): Promise<number> {
  const [file, ...more] = [...(values.file ?? []), ...positionals]
  if (more.length > 0 || values.profile !== undefined) {
    throw new UsageError('--admin accepts at most one file and cannot be combined with --profile')
  }
  const found = await servedDiagnostics(admin, file, terminal)
  if (found === undefined) return 1
  if (formatOf(values, ['text', 'json']) === 'json') terminal.out(`${renderJson(found)}\n`)
  else print(file ?? admin, found, terminal)
  return hasErrors(found) ? 1 : 0
}

async function servedDiagnostics(
  admin: string,
  file: string | undefined,
  terminal: Terminal,
): Promise<readonly Diagnostic[] | undefined> {
  const { environment } = terminal
  let reply: { readonly diagnostics: readonly Diagnostic[] } | string
  if (file === undefined) reply = await fetchAnalysis(admin, '/api/diagnostics', environment)
  else {
    const { changesTowards } = await import('./admin-changes.ts')
    const towards = await changesTowards(admin, file, 'validate', terminal)
    if (towards === undefined) return undefined
    const { changes } = towards
    reply = await fetchAnalysis(admin, '/api/config/validate', environment, { changes })
  }
  if (typeof reply !== 'string') return reply.diagnostics
  terminal.err(`portcullis validate: ${reply}\n`)
  return undefined
}

/** The short and recommended name of the same command. */
export const check = defineCommand({
  ...validate,
  name: 'check',
  summary: 'check configuration files: all errors and warnings, with proven policy mistakes',
  help: validate.help.replaceAll('portcullis validate', 'portcullis check'),
})

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowPositionals: true,
    options: { ...FILES, ...ADMIN, ...FORMAT, profile: { type: 'string' } },
  })
}

type Differences = (text: string, file: string) => readonly Diagnostic[]

/** Differences in meaning of a file that was written for another gateway. */
async function differencesFor(profile: string | undefined): Promise<Differences> {
  if (profile === undefined) return () => []
  if (profile !== 'agentgateway') {
    throw new UsageError(`unknown profile \`${profile}\`; available: agentgateway`)
  }
  const { agentgatewayDifferences } = await import('./profile-agentgateway.ts')
  return agentgatewayDifferences
}

/** Undefined for anything but a readable file: the loader reports the reason. */
function textOf(file: string, { readInput }: Terminal): string | undefined {
  if (file === '-') return readInput()
  const found = readText(file)
  return 'text' in found ? found.text : undefined
}

function nameOf(file: string): string {
  return file === '-' ? 'standard-input' : file
}

/** The diagnostics of the reader, those of the gateway, and the proven errors of the policies. */
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
  // Unreadable files have been reported; their contents are unknown.
  if (model === undefined || hasErrors(diagnostics)) return diagnostics
  const all = collector()
  const further = withoutRepeated(diagnostics, checkModel(file, model))
  const found = [...further, ...provenErrors(name, model, input)]
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
