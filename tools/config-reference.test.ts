import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { lint } from '../src/analysis/lint/lint.ts'
import { POLICY_SCHEMAS } from '../src/policies/schema.ts'
import { fileJsonSchema, type JsonSchema } from '../src/sources/file/json-schema.ts'
import { loadText } from '../src/sources/file/load.ts'
import { configReference } from './config-reference.ts'
import { exampleOf } from './policy-examples.ts'

const files = configReference.generate('')

describe('the configuration reference', () => {
  const page = files.get('docs/reference/configuration.md') ?? ''

  it('describes every key', () => {
    const rows = page.split('\n').filter((line) => /^\| \*{0,2}`/.test(line))
    assert.ok(rows.length > 300)
    assert.deepEqual(
      rows.filter((row) => /\| *\|$/.test(row)),
      [],
    )
  })

  it('has a heading for every link', () => {
    const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, link]) => link)
    const headings = [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    )
    assert.deepEqual(
      [...new Set(links)].filter((link) => !headings.includes(link as string)),
      [],
    )
  })
})

/** Files that an example references do not exist in the test. */
const FILES: ReadonlySet<string> = new Set(['PC0310'])

describe('the example of each policy', () => {
  const page = files.get('docs/reference/configuration.md') ?? ''

  for (const { kind } of POLICY_SCHEMAS) {
    const example = exampleOf(kind)

    it(`${kind}: is there, and on the page`, () => {
      assert.ok(example, `write src/policies/…/example.yaml for ${kind}`)
      assert.ok(page.includes(example))
    })

    it(`${kind}: is accepted, has the policy, and lint has nothing against it`, () => {
      const { result } = loadText(example ?? '', 'gateway.yaml', { environment: {} })
      assert.deepEqual(
        result.diagnostics.filter(({ code }) => !FILES.has(code)),
        [],
      )
      assert.ok(result.value)
      assert.ok(JSON.stringify(result.value).includes(`"kind":"${kind}"`))
      const found = lint(result.value).map(({ diagnostic }) => diagnostic)
      assert.deepEqual(
        found.filter(({ severity }) => severity !== 'info'),
        [],
      )
    })
  }
})

describe('the JSON Schema', () => {
  it('closes every mapping whose keys are known', () => {
    const open: string[] = []
    const visit = (part: JsonSchema, path: string) => {
      if (part.properties !== undefined && part.additionalProperties !== false) open.push(path)
      for (const [key, value] of Object.entries(part)) {
        if (typeof value === 'object' && value !== null)
          visit(value as JsonSchema, `${path}.${key}`)
      }
    }
    visit(fileJsonSchema(), '')
    assert.deepEqual(
      // `properties` may itself be the name of a key, which is not a schema.
      open.filter((path) => !path.endsWith('.properties')),
      [],
    )
  })
})
