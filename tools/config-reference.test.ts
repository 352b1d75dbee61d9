import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileJsonSchema, type JsonSchema } from '../src/sources/file/json-schema.ts'
import { configReference } from './config-reference.ts'

const files = configReference.generate('')

describe('the configuration reference', () => {
  const page = files.get('docs/reference/configuration.md') ?? ''

  it('tells the meaning of every key', () => {
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
      // `properties` may itself be the name of a key, which is no schema.
      open.filter((path) => !path.endsWith('.properties')),
      [],
    )
  })
})
