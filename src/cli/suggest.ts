import { readDecisions } from '../analysis/decisions/read.ts'
import { type Suggestions, suggest as suggestRules } from '../analysis/suggest/suggest.ts'
import { exactJson } from '../cel/values/json-exact.ts'
import { visible } from '../diagnostics/text-cells.ts'
import type { Model } from '../model/model.ts'
import { Reach } from '../reach/reach.ts'
import { fetchAnalysis } from './admin-client.ts'
import { defineCommand, UsageError } from './define.ts'
import { compare, exampleLines, loadModel } from './diff.ts'
import { ADMIN, defaultFile, FORMAT, formatOf, readArgs } from './read-args.ts'
import { readText } from './read-text.ts'
import { openRouter } from './route-recorded.ts'

export const suggest = defineCommand({
  name: 'suggest',
  summary: 'suggest Allow rules that admit the recorded requests and little else',
  mayTakeLong: true,
  help: `portcullis suggest --decisions FILE [-f FILE] [--route NAME] [--format text|json]
portcullis suggest --admin URL [--route NAME] [--format text|json]

Reads recorded decisions (JSON lines, as written to config.decisions.file; - for standard
input) and the configuration that they were recorded with. For every route with admitted
requests, it suggests the fewest Allow rules that admit all of them, based on the recorded
methods and paths and on claims and headers with few values. Rules can use only values that
the records contain: claims and headers that a rule read and that are not redacted.
Each suggestion is replayed on the same records before it is shown: it admits every request
that was admitted. It is also proven to admit only requests that are admitted now; if that
takes it, the replaced rules remain a condition of the new ones. Each rule comes with a
request that is admitted now and that the rule would deny. Set \`config.decisions.allowed\`
to record admitted requests.

  --decisions FILE   the records
  -f, --file FILE    the configuration that they were recorded with (default:
                     portcullis.yaml in the current folder)
  --admin URL        use the records and the configuration of a running gateway; sends the
                     token in PORTCULLIS_ADMIN_TOKEN
  --route NAME       only this route
  --format json      JSON output; short form: --json

Exit code: 0; 1 if a file has errors, there are no records or there is no suggestion; 2 for a
usage error.`,
  run: async (args, terminal) => {
    const { values } = parse(args)
    const format = formatOf(values, ['text', 'json'])
    const { decisions, route, admin } = values
    const show = (found: Suggestions) => {
      terminal.out(format === 'json' ? `${exactJson(found, 2)}\n` : render(found))
      return found.suggestions.length === 0 ? 1 : 0
    }
    if (admin !== undefined) {
      const query = route === undefined ? '' : `?${new URLSearchParams({ route })}`
      const path = `/api/policies/suggest${query}`
      const found = await fetchAnalysis<Suggestions>(admin, path, terminal.environment)
      if (typeof found !== 'string') return show(found)
      terminal.err(`portcullis suggest: ${found}\n`)
      return 1
    }
    if (decisions === undefined) throw new UsageError('specify --decisions, or --admin')
    const file = values.file ?? defaultFile()
    const text = decisions === '-' ? terminal.readInput() : readText(decisions)
    const { decisions: records } = readDecisions(text)
    if (records.length === 0) {
      terminal.err(`portcullis suggest: ${decisions} contains no decision records\n`)
      return 1
    }
    const model = loadModel(file, terminal)
    if (model === undefined) return 1
    const { ports } = new Reach(model)
    const found = suggestRules(route === undefined ? records : idsOn(route, records), model, {
      openRouter: (one: Model) => openRouter(one, (port) => ports.has(port)),
      compare,
    })
    return show(found)
  },
})

/** Stages before routing have separate records. */
function idsOn<T extends { readonly id: string; readonly route?: string }>(
  route: string,
  records: readonly T[],
): readonly T[] {
  const ids = new Set(records.filter((one) => one.route === route).map(({ id }) => id))
  return records.filter(({ id }) => ids.has(id))
}

const TIGHTENS = {
  yes: '',
  no: 'They do not deny any request that is admitted now, because rules on the gateway or listener still admit it.',
  unknown: 'It is not known whether they deny any request that is admitted now.',
} as const

function render({ suggestions, without }: Suggestions): string {
  const lines: string[] = []
  for (const { route, admitted, denied, rules, replaces, tightens } of suggestions) {
    lines.push(
      visible(`route ${route}: admits ${admitted} recorded requests, denies ${denied}`),
      '  authorization:',
      '    rules:',
    )
    for (const { expression, admits, example, denies, wouldDeny } of rules) {
      lines.push(
        `    - allow: ${visible(yamlText(expression))}`,
        `      # admits ${admits}, for example ${visible(`${example.method} ${example.path}`)}; denies ${denies} of the others`,
      )
      for (const one of wouldDeny) {
        lines.push('      # would deny this request, which is admitted now:')
        lines.push(...exampleLines(one).map((line) => `      #   ${visible(line)}`))
      }
    }
    if (replaces.length > 0) {
      lines.push('  instead of:', ...replaces.map((rule) => `    - allow: ${visible(rule)}`))
    }
    if (tightens !== 'yes') lines.push(`  ${TIGHTENS[tightens]}`)
    lines.push('')
  }
  for (const { route, why } of without) lines.push(visible(`route ${route}: no suggestion: ${why}`))
  return `${lines.join('\n')}\n`
}

function yamlText(text: string): string {
  return JSON.stringify(text)
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    options: {
      decisions: { type: 'string' },
      file: { type: 'string', short: 'f' },
      route: { type: 'string' },
      ...ADMIN,
      ...FORMAT,
    },
  })
}
