import { describeCode } from './catalogue.ts'
import type { Diagnostic, Severity } from './diagnostic.ts'
import { renderOrigin } from './render.ts'

const LEVELS: Readonly<Record<Severity, string>> = {
  error: 'error',
  warning: 'warning',
  info: 'note',
}

/** SARIF 2.1.0, for code hosts and editors. */
export function renderSarif(diagnostics: readonly Diagnostic[], version: string): string {
  const codes = [...new Set(diagnostics.map(({ code }) => code))].sort()
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'portcullis', version, rules: codes.map(ruleOf) },
        },
        columnKind: 'unicodeCodePoints',
        results: diagnostics.map((diagnostic) => resultOf(diagnostic, codes)),
      },
    ],
  }
  return JSON.stringify(log, undefined, 2)
}

function ruleOf(code: string) {
  const record = describeCode(code)
  if (record === undefined) return { id: code }
  return {
    id: code,
    shortDescription: { text: record.title },
    fullDescription: { text: record.explanation },
    defaultConfiguration: { level: LEVELS[record.severity] },
  }
}

function resultOf(diagnostic: Diagnostic, codes: readonly string[]) {
  const { code, severity, message, hint, origin } = diagnostic
  const text = hint === undefined ? message : `${message}\n${hint}`
  const location =
    origin.kind === 'file'
      ? {
          physicalLocation: {
            artifactLocation: { uri: uriOf(origin.file) },
            region: { startLine: origin.line, startColumn: origin.column },
          },
        }
      : { logicalLocations: [{ fullyQualifiedName: renderOrigin(origin) }] }
  return {
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: LEVELS[severity],
    message: { text },
    locations: [location],
  }
}

/** Characters with a meaning in URIs are part of the name here, so they are escaped. */
function uriOf(file: string): string {
  return encodeURI(file.replaceAll('\\', '/')).replaceAll('#', '%23').replaceAll('?', '%3F')
}
