import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderJson, renderTerminal } from '../diagnostics/render.ts'
import { collector } from '../diagnostics/report.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { loadText } from '../sources/file/load.ts'
import { checkModel, provenErrors } from './check-model.ts'
import { cookieSecretProblems } from './cookie-secret.ts'
import { defineCommand, type Terminal } from './define.ts'
import { loadConfiguration, prepareFor } from './load-configuration.ts'
import { FILES, FORMAT, filesOf, formatOf, readArgs } from './read-args.ts'

export const validate = defineCommand({
  name: 'validate',
  summary: 'check configuration files and print everything that is wrong with them',
  help: `portcullis validate FILE... [--format text|json]
portcullis validate -f FILE [--json]

Reads each FILE (- for the standard input) and the files that it names, as the
gateway would, and prints all errors and warnings with their places. Errors that
\`portcullis lint\` proves in policies, such as rules that can never match, are among
them; its warnings are not. FILE may also be a file or a folder of manifests: Gateways,
routes and policies of Kubernetes, read as the controller would.

  --format text   for people (default)
  --format json   for programs: counts and messages as one object; --json for short

Exit code: 0 without errors, 1 with errors, 2 for a usage error.`,
  run: async (args, terminal) => {
    const read = parse(args)
    const files = filesOf(read, 'name a file to check')
    const format = formatOf(read.values, ['text', 'json'])
    await prepareFor(...files)
    const checked = files.map((file) => ({ file, diagnostics: checkFile(file, terminal) }))
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
    options: { ...FILES, ...FORMAT },
  })
}

/** What its reader says, what the gateway would say of it, and what is proven of its policies. */
function checkFile(file: string, { environment, readInput }: Terminal): readonly Diagnostic[] {
  const isInput = file === '-'
  const name = isInput ? 'standard-input' : file
  const text = isInput ? readInput() : undefined
  const { value: model, diagnostics: read } =
    text === undefined
      ? loadConfiguration(file, { environment }).result
      : loadText(text, name, { environment }).result
  const diagnostics = [...read, ...cookieSecretProblems(undefined, environment)]
  // Files that could not be read have been told of; what they hold is not known.
  if (model === undefined || hasErrors(diagnostics)) return diagnostics
  const all = collector()
  const found = [...checkModel(file, model), ...provenErrors(name, model, text)]
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
