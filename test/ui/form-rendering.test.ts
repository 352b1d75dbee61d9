import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import fc from 'fast-check'
import { KINDS } from '../../ui/src/kinds/resource-id.ts'
import { nameOfPath } from '../../ui/src/text/places.ts'
import { schemaOfResource, valuesOf } from './schema-values.ts'

const ROOT = join(import.meta.dirname, '../..')
const RUNS = Math.min(60, Number(process.env['FUZZ_RUNS'] ?? 20))

/** A list with more items shows a line for each. */
const OPEN_ITEMS = 2

const PROGRAM = `
import { MantineProvider } from '@mantine/core'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { SchemaForm } from './ui/src/forms/schema-form.tsx'

export function render(kind, value, isReadOnly) {
  const props = { kind, value, onChange() {}, marks: [], isReadOnly }
  return renderToString(
    createElement(MantineProvider, { env: 'test' }, createElement(SchemaForm, props)),
  )
}
`

type Render = (kind: string, value: unknown, isReadOnly: boolean) => string

describe('a form of the Admin UI', () => {
  let folder: string
  let render: Render

  before(async () => {
    mkdirSync(join(ROOT, '.cache'), { recursive: true })
    folder = mkdtempSync(join(ROOT, '.cache/forms-'))
    const outfile = join(folder, 'forms.mjs')
    await build({
      stdin: { contents: PROGRAM, resolveDir: ROOT, loader: 'tsx' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      jsx: 'automatic',
      packages: 'external',
      logLevel: 'error',
      outfile,
    })
    ;({ render } = (await import(pathToFileURL(outfile).href)) as { render: Render })
  })

  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const kind of KINDS) {
    it(`shows every field of any value of ${kind}, and of none`, () => {
      assert.match(render(kind, undefined, false), /data-field/)
      fc.assert(
        fc.property(
          valuesOf(schemaOfResource(kind), 0, true),
          fc.boolean(),
          (value, isReadOnly) => {
            const html = render(kind, value, isReadOnly)
            for (const path of shownPaths(value)) {
              const label = nameOfPath(path).replaceAll('&', '&amp;').replaceAll('"', '&quot;')
              assert.ok(
                html.includes(`data-field="${label}"`),
                `${label}\n${JSON.stringify(value)}`,
              )
            }
            // Nothing is changed that is only read.
            if (isReadOnly) assert.doesNotMatch(html, /aria-label="(Remove|Add to|Move|Generate)/)
          },
        ),
        { numRuns: RUNS },
      )
    })
  }
})

/** The paths of all fields that need not be opened first. */
function shownPaths(value: unknown): readonly (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[]]
  if (Array.isArray(value)) {
    if (value.length > OPEN_ITEMS) return [[]]
    return [[], ...value.flatMap((item, at) => shownPaths(item).map((path) => [at, ...path]))]
  }
  const inner = Object.entries(value).flatMap(([key, member]) =>
    shownPaths(member).map((path) => [key, ...path]),
  )
  return [[], ...inner]
}
