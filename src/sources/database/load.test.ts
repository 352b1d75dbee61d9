import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { hasErrors } from '../../diagnostics/result.ts'
import type { Path } from '../file/document.ts'
import { FilePlace } from '../file/file-place.ts'
import { readDocument } from '../file/read.ts'
import { SectionNode } from '../file/section-node.ts'
import { readBaseline } from './load.ts'

const ROOT = join(import.meta.dirname, '../../..')

function* pathsIn(value: unknown, path: Path = []): Generator<Path> {
  yield path
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    yield* pathsIn(inner, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

describe('a baseline', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  after(() => rmSync(folder, { recursive: true }))

  for (const name of globSync('test/config/*.in.yaml', { cwd: ROOT })) {
    it(`of ${name} has the values and lines of the whole text`, () => {
      const file = join(ROOT, name)
      const environment = {}
      const text = readFileSync(file, 'utf8')
      const { value: whole } = readDocument(text, { file, environment, how: 'whole' })
      const baseline = readBaseline(file, environment)
      if (whole === undefined || hasErrors(whole.unfilled())) {
        assert.equal(baseline, undefined)
        return
      }
      assert.ok(baseline)
      // The order of keys, too: people read it.
      assert.equal(JSON.stringify(baseline.value), JSON.stringify(whole.value))
      const root = SectionNode.of(baseline.outline)
      for (const path of pathsIn(whole.value)) {
        const place = new FilePlace(whole, path)
        assert.deepEqual(root.inner(...path).origin, place.origin, path.join('.'))
      }
    })
  }

  it('of a long list reads no tree of the whole text for its values and lines', () => {
    const file = join(folder, 'long.yaml')
    const routes = Array.from(
      { length: 50 },
      (_, i) => `- name: r${i}\n  backends: [{ host: 'a:${i + 1}' }]`,
    )
    writeFileSync(file, `routes:\n${routes.join('\n')}\n`)
    const baseline = readBaseline(file, {})
    assert.ok(baseline)
    assert.equal(baseline.resources.size, 50)
    const nodes = JSON.stringify(baseline.outline.root).length
    assert.ok(nodes < 500, `${nodes} characters`)
    assert.ok(JSON.stringify(baseline.document.root).length > 50 * 100)
  })
})
