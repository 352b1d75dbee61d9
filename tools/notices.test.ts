import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { renderNotices } from './notices.ts'

describe('the notices of a release', () => {
  const root = mkdtempSync(join(tmpdir(), 'notices-'))
  after(() => rmSync(root, { recursive: true }))
  const plant = (folder: string, name: string, files: Readonly<Record<string, string>>) => {
    mkdirSync(join(root, folder), { recursive: true })
    const manifest = JSON.stringify({ name, version: '1.2.3', license: 'MIT' })
    for (const [file, text] of Object.entries({ 'package.json': manifest, ...files })) {
      writeFileSync(join(root, folder, file), text)
    }
  }

  it('list each bundled package once, with its license and notice', () => {
    plant('node_modules/@a/b', '@a/b', { 'LICENSE.md': 'be kind\n', NOTICE: 'made by b\n' })
    plant('node_modules/@a/b/node_modules/c', 'c', {})
    const inputs = [
      'src/cel/index.ts',
      'node_modules/@a/b/dist/one.js',
      'node_modules/@a/b/dist/two.js',
      'node_modules/@a/b/node_modules/c/index.js',
    ]
    assert.equal(
      renderNotices(root, inputs),
      `# Notices

The bundles contain code of these packages.

## @a/b 1.2.3 (MIT)

\`\`\`text
be kind

made by b
\`\`\`

## c 1.2.3 (MIT)
`,
    )
  })
})
