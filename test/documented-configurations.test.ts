import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { lint } from '../src/analysis/lint/lint.ts'
import { runWith } from '../src/cli/fixtures/run.ts'
import { loadText } from '../src/sources/file/load.ts'

const ROOT = join(import.meta.dirname, '..')
const pages = globSync(['*.md', 'docs/**/*.md', 'charts/*/README.md'], { cwd: ROOT })
  // Error pages show invalid configurations on purpose; test/error-examples.test.ts checks those.
  .filter((page) => !page.startsWith('docs/errors/'))
  .sort()

/**
 * A fragment may omit unrelated parts, and the files and variables that it names do not exist here.
 */
const ELSEWHERE: ReadonlySet<string> = new Set(['PC0204', 'PC0301', 'PC0302', 'PC0310'])
/** Reported for objects that manifests on a page reference but do not show. */
const NOT_SHOWN: ReadonlySet<string> = new Set(['PC0702', 'PC0707'])
/** Marks examples that are invalid on purpose. */
const IS_WRONG = /#.*(?:wrong|never|error|✗)/i
/** A named file of the page; test/cookbook.test.ts checks those. */
const IS_NAMED = /^# [\w-]+\.yaml\n/
/** Top-level keys with which a configuration block may begin. */
const IS_FILE = /^(?:gateways|routes|policies|backends|frontendPolicies|config|llm|mcp|binds):/m
/** Policies that are set on backends. */
const OF_BACKENDS = /^(?:a2a|mcpAuthorization|mcpAuthentication):/m

const GATEWAY = 'gateways: { default: { port: 8080 } }\n'
/** Rules may read the claims of these tokens. */
const TOKENS = "  jwtAuthentication: { issuer: 'https://a', jwks: { url: 'https://a/keys' } }\n"
const HOST = "  backends: [{ host: 'a:80' }]\n"

describe('configurations in the documentation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'documented-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const page of pages) {
    for (const [index, text] of blocksIn(readFileSync(join(ROOT, page), 'utf8')).entries()) {
      it(`${page}, the ${index + 1}. one: ${IS_WRONG.test(text) ? 'is wrong' : 'nothing is wrong with it'}`, async () => {
        const errors = await errorsOf(text, page, folder)
        if (IS_WRONG.test(text)) assert.notDeepEqual(errors, [])
        else assert.deepEqual(errors, [])
      })
    }
  }

  it('are found, with their errors', async () => {
    const text = `\`\`\`yaml\nroutes:\n- policies: { authorization: { rules: [{ allow: "jwt.sub == 'a'" }] } }\n  backends: [{ host: 'a:80' }]\n\`\`\``
    const [block = ''] = blocksIn(text)
    assert.deepEqual(await errorsOf(block, 'a.md', folder), [
      'AZ001 `jwt` is never set here: this rule never matches, so it admits no requests',
    ])
  })

  it('of every kind are checked: an unknown kind is an error', async () => {
    await assert.rejects(() => errorsOf('something: else\n', 'a.md', folder), /which kind/)
  })
})

/** All YAML blocks of a page except named files and comments. */
function blocksIn(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^([ \t]*)```yaml\n(.*?)^[ \t]*```/gms)]
  return blocks
    .map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .filter((text) => !IS_NAMED.test(text) && text.replaceAll(/^#.*$/gm, '').trim() !== '')
}

async function errorsOf(text: string, page: string, folder: string): Promise<readonly string[]> {
  if (page.startsWith('charts/')) return errorsOfValues(text, join(ROOT, page, '..'))
  if (/^apiVersion:/m.test(text)) return errorsOfManifests(text, folder)
  return errorsOfConfiguration(whole(text))
}

/** Completes a fragment to a whole configuration. */
function whole(text: string): string {
  if (/^policies:\n +\w+:/.test(text)) return `${GATEWAY}${atRoute(text)}${HOST}`
  if (IS_FILE.test(text)) return /^(?:gateways|binds):/m.test(text) ? text : `${GATEWAY}${text}`
  if (/^- (?:allow|deny|require):/.test(text)) {
    const rules = text.replaceAll(/^(?=.)/gm, '    ')
    return whole(`policies:\n  authorization:\n    rules:\n${rules}`)
  }
  const own = `policies:\n${text.replaceAll(/^(?=.)/gm, '  ')}`
  if (OF_BACKENDS.test(text)) {
    const kind = /^a2a:/m.test(text)
      ? "host: 'a:80'"
      : "mcp: { targets: [{ name: t, mcp: { host: 'a:80' } }] }"
    return `${GATEWAY}${atRoute(own)}  backends: [{ ${kind} }]\n`
  }
  if (/^ai:/m.test(text)) {
    const provider = 'provider: { openAI: { model: gpt-4o } }'
    return `${GATEWAY}${atRoute(own)}  backends: [{ ai: { name: a, ${provider} } }]\n`
  }
  if (/^authorization:/.test(text)) return whole(`${own}${TOKENS}`)
  throw new Error(`which kind of configuration is this?\n${text}`)
}

/** Wraps policies in a route. */
function atRoute(policies: string): string {
  return `routes:\n- name: shown\n${policies.replaceAll(/^(?=.)/gm, '  ')}\n`
}

function errorsOfConfiguration(text: string): readonly string[] {
  const { value, diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
  const found = value === undefined ? [] : lint(value).map(({ diagnostic }) => diagnostic)
  return [...diagnostics, ...found]
    .filter(({ severity, code }) => severity === 'error' && !ELSEWHERE.has(code))
    .map(({ code, message }) => `${code} ${message}`)
}

async function errorsOfManifests(text: string, folder: string): Promise<readonly string[]> {
  const file = join(folder, 'manifests.yaml')
  writeFileSync(file, text)
  const { diagnostics } = JSON.parse((await runWith(['check', '--json', file])).out) as {
    readonly diagnostics: readonly { severity: string; code: string; message: string }[]
  }
  return diagnostics
    .filter(({ severity, code }) => severity === 'error' && !NOT_SHOWN.has(code))
    .map(({ code, message }) => `${code} ${message}`)
}

function merged(defaults: object, own: object): object {
  const entries = Object.entries(own).map(([key, value]: [string, unknown]) => {
    const before = (defaults as Readonly<Record<string, unknown>>)[key]
    return [key, isMapping(before) && isMapping(value) ? merged(before, value) : value]
  })
  return { ...defaults, ...Object.fromEntries(entries) }
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Errors in the values of a chart and in the configuration that they contain. */
function errorsOfValues(text: string, chart: string): readonly string[] {
  const ajv = new Ajv2020({ strict: false, logger: false })
  const isValid = ajv.compile({
    ...JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')),
    $schema: 'https://json-schema.org/draft/2020-12/schema',
  })
  const values = parse(text) as { readonly config?: object }
  // Omitted values have their defaults.
  const defaults = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as object
  if (!isValid(merged(defaults, values)))
    return (isValid.errors ?? []).map(({ message }) => String(message))
  const { config } = values
  if (config === undefined) return []
  return errorsOfConfiguration(JSON.stringify({ gateways: { default: { port: 8080 } }, ...config }))
}
