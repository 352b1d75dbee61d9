import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { lint } from '../src/analysis/lint/lint.ts'
import { loadText } from '../src/sources/file/load.ts'

const ROOT = join(import.meta.dirname, '..')
const pages = globSync(['README.md', 'docs/{tasks,reference}/**/*.md'], { cwd: ROOT }).sort()

/** A fragment need not have what it is not about, nor do files and variables exist here. */
const ELSEWHERE: ReadonlySet<string> = new Set(['PC0204', 'PC0301', 'PC0302', 'PC0310'])
/** Of these it may be the page's point that they are wrong. */
const IS_WRONG = /#.*(?:wrong|never|error|✗)/i

const GATEWAY = 'gateways: { default: { port: 8080 } }\n'

describe('configurations in the documentation', () => {
  for (const page of pages) {
    const blocks = configurationsIn(readFileSync(join(ROOT, page), 'utf8'))
    for (const [index, text] of blocks.entries()) {
      it(`${page}, the ${index + 1}. one: nothing is wrong with it`, () => {
        assert.deepEqual(errorsOf(text), [])
      })
    }
  }

  it('are found, and what is wrong with them', () => {
    const text = `\`\`\`yaml\nroutes:\n- policies: { authorization: { rules: [{ allow: "jwt.sub == 'a'" }] } }\n  backends: [{ host: 'a:80' }]\n\`\`\``
    assert.deepEqual(configurationsIn(text).map(errorsOf), [
      ['AZ001 `jwt` is never set here: this rule never matches, so it admits no requests'],
    ])
  })
})

/** YAML that is, or could be, the beginning of a file. */
function configurationsIn(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^([ \t]*)```yaml\n(.*?)^[ \t]*```/gms)]
  return blocks
    .map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .filter((text) => /^(?:gateways|routes|policies|backends|frontendPolicies):/m.test(text))
    .filter((text) => !IS_WRONG.test(text) && !/^(?:requests|apiVersion|kind):/m.test(text))
    .map((text) => (/^policies:\n +\w+:/.test(text) ? ofRoute(text) : text))
    .map((text) => (/^gateways:/m.test(text) ? text : `${GATEWAY}${text}`))
}

/** Policies as they are written at a route. */
function ofRoute(policies: string): string {
  const own = policies.replaceAll(/^(?=.)/gm, '  ')
  return `routes:\n- name: shown\n${own}\n  backends: [{ host: 'a:80' }]\n`
}

function errorsOf(text: string): readonly string[] {
  const { value, diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
  const found = value === undefined ? [] : lint(value).map(({ diagnostic }) => diagnostic)
  return [...diagnostics, ...found]
    .filter(({ severity, code }) => severity === 'error' && !ELSEWHERE.has(code))
    .map(({ code, message }) => `${code} ${message}`)
}
