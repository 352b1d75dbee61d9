import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { renderSbom } from './sbom.ts'

const root = mkdtempSync(join(tmpdir(), 'sbom-'))
after(() => rmSync(root, { recursive: true }))

it('the SBOM lists every bundled package with version, license and digest', () => {
  mkdirSync(join(root, 'node_modules/@a/b'), { recursive: true })
  writeFileSync(
    join(root, 'node_modules/@a/b/package.json'),
    '{"name":"@a/b","version":"1.2.3","license":"MIT"}',
  )
  const packages = { 'node_modules/@a/b': { integrity: 'sha512-AQID' } }
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }))
  const product = { name: 'portcullis', version: '1.0.0', license: 'Apache-2.0' }
  const document = JSON.parse(renderSbom(root, product, ['src/a.ts', 'node_modules/@a/b/index.js']))
  assert.equal(document.bomFormat, 'CycloneDX')
  assert.equal(document.metadata.component.name, 'portcullis')
  assert.deepEqual(document.components[0], {
    type: 'library',
    'bom-ref': 'pkg:npm/%40a/b@1.2.3',
    name: '@a/b',
    version: '1.2.3',
    purl: 'pkg:npm/%40a/b@1.2.3',
    licenses: [{ license: { id: 'MIT' } }],
    hashes: [{ alg: 'SHA-512', content: '010203' }],
  })
  assert.equal(document.components[1].name, 'node')
})

it('the SBOM lists the system libraries of images', () => {
  const product = { name: 'portcullis', version: '1.0.0', license: 'Apache-2.0' }
  const libc = { name: 'libc6', version: '2.36-9', cpu: 'x64' } as const
  const document = JSON.parse(renderSbom(root, product, [], [libc]))
  const found = document.components.find(({ name }: { name: string }) => name === 'libc6')
  assert.equal(found?.version, '2.36-9')
})
