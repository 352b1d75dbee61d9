import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parse, stringify } from 'yaml'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { loadText } from '../../sources/file/load.ts'
import { objectName } from './object-name.ts'
import type { DeployOptions } from './options.ts'
import type { ProxyParameters } from './parameters.ts'
import { type DeployedGateway, renderGateway } from './render.ts'

const FOLDER = join(import.meta.dirname, 'cases')

const OPTIONS: DeployOptions = {
  image: {
    registry: 'ghcr.io/portcullis-dev',
    repository: 'portcullis-proxy',
    tag: 'v1',
    pullPolicy: 'IfNotPresent',
  },
  xdsAddress: 'https://portcullis.portcullis-system.svc:9978',
  xdsCa: '(certificates)',
  sessionKey: 'MDA=',
}

interface Case {
  readonly gateway: DeployedGateway
  readonly parameters: readonly ProxyParameters[]
  readonly options?: Readonly<Record<string, unknown>>
}

function rendered(file: string) {
  const {
    gateway,
    parameters,
    options = {},
  } = parse(readFileSync(join(FOLDER, file), 'utf8')) as Case
  const changed = Object.entries({ ...OPTIONS, ...options }).map(([key, value]) => [
    key,
    value ?? undefined,
  ])
  return renderGateway(gateway, parameters, Object.fromEntries(changed) as DeployOptions)
}

/**
 * Each case is a Gateway with its parameters, next to the deployed objects. After a change, run
 * UPDATE_CASES=1 node --test src/controller/deploy/render.test.ts, and review the difference.
 */
describe('objects deployed for a Gateway', () => {
  const files = globSync('*.yaml', { cwd: FOLDER }).filter((name) => !name.endsWith('.out.yaml'))
  assert.ok(files.length > 3)
  for (const file of files.sort()) {
    it(basename(file, '.yaml').replaceAll('-', ' '), () => {
      const output = join(FOLDER, file.replace('.yaml', '.out.yaml'))
      const options = { aliasDuplicateObjects: false, lineWidth: 0 }
      const made = rendered(file)
        .map((object) => stringify(JSON.parse(JSON.stringify(object)), options))
        .join('---\n')
      if (process.env['UPDATE_CASES'] !== undefined) writeFileSync(output, made)
      assert.equal(made, readFileSync(output, 'utf8'))
    })

    it(`${basename(file, '.yaml').replaceAll('-', ' ')}: the proxy reads its configuration`, () => {
      const map = rendered(file).find(({ kind }) => kind === 'ConfigMap')
      assert.ok(map)
      const { 'config.yaml': text } = map['data'] as { readonly 'config.yaml': string }
      // Catalogs are mounted only in the pod.
      const plain = text.replace(/,?"modelCatalog":\[[^\]]*\]/, '')
      const { diagnostics } = loadText(plain, 'config.yaml', { environment: {} }).result
      assert.deepEqual(
        diagnostics.filter(({ severity }) => severity === 'error'),
        [],
      )
    })
  }
})

describe('the names of objects', () => {
  it('are valid Service names, unique per Gateway', () => {
    const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,90}[a-z0-9])?$/)
    const suffix = fc.constantFrom('', '-xds-ca', '-session-key')
    fc.assert(
      fc.property(name, name, suffix, (one, other, end) => {
        const made = objectName(one, end)
        assert.match(made, /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/)
        assert.ok(made.endsWith(end))
        if (one !== other) assert.notEqual(made, objectName(other, end))
      }),
      fuzz(5),
    )
  })

  it('equal that of the Gateway if possible', () => {
    assert.equal(objectName('web'), 'web')
    assert.equal(objectName('web', '-xds-ca'), 'web-xds-ca')
    assert.match(objectName('1.web'), /^gw-1-web-[0-9a-f]{12}$/)
    assert.notEqual(objectName('a.b'), objectName('a-b'))
  })
})
