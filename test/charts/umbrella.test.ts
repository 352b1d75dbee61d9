import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import own from '../../package.json' with { type: 'json' }
import {
  type Chart,
  chartFolder,
  options,
  readObjects,
  rejection,
  renderText,
  runHelm,
} from './helm.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-umbrella-'))
after(() => rmSync(folder, { recursive: true }))

/** A chart that includes one of ours under several names. */
function umbrella(chart: Chart, aliases: readonly string[], values: object) {
  const root = join(folder, `${chart}-${aliases.join('-')}`)
  mkdirSync(join(root, 'charts'), { recursive: true })
  cpSync(chartFolder(chart), join(root, 'charts', chart), { recursive: true })
  const dependencies = aliases.map((alias) => ({
    name: chart,
    version: own.version,
    repository: '',
    ...(alias === chart ? {} : { alias }),
    condition: `${alias}.enabled`,
  }))
  const about = { apiVersion: 'v2', name: 'umbrella', version: '1.0.0', dependencies }
  writeFileSync(join(root, 'Chart.yaml'), JSON.stringify(about))
  const args = ['template', 'shop', root, '--namespace', 'shop', '--values', '-']
  const { status, stdout, stderr } = runHelm(args, JSON.stringify(values))
  assert.equal(status, 0, stderr)
  return readObjects(stdout)
}

const namesOf = (objects: ReturnType<typeof umbrella>) =>
  objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)

describe('a chart that includes ours', options, () => {
  for (const chart of ['portcullis', 'portcullis-standalone', 'portcullis-crds'] as const) {
    it(`${chart}: is switched on and off by its condition`, () => {
      assert.notEqual(umbrella(chart, [chart], { [chart]: { enabled: true } }).length, 0)
      assert.equal(umbrella(chart, [chart], { [chart]: { enabled: false } }).length, 0)
    })

    it(`${chart}: \`enabled\` alone is no way to leave it out`, () => {
      renderText(chart, { enabled: true })
      const said = rejection(chart, { enabled: false })
      assert.match(
        said,
        /`enabled: false` only works as the `condition`|at '\/enabled': value must be one of true, <nil>/,
      )
    })
  }

  for (const chart of ['portcullis', 'portcullis-standalone'] as const) {
    it(`${chart}: two aliases have objects of their own`, () => {
      const names = namesOf(umbrella(chart, ['front', 'back'], {}))
      assert.deepEqual(names, [...new Set(names)])
      assert.ok(names.includes(`Deployment/shop-front`), names.join(' '))
      assert.ok(names.includes(`Deployment/shop-back`), names.join(' '))
    })

    it(`${chart}: the pods of two aliases are told apart`, () => {
      const deployments = umbrella(chart, ['front', 'back'], {}).filter(
        ({ kind }) => kind === 'Deployment',
      )
      const selectors = deployments.map(({ spec }) =>
        JSON.stringify((spec as { readonly selector: unknown }).selector),
      )
      assert.equal(new Set(selectors).size, 2)
    })
  }

  it('portcullis-standalone: without an alias it is named after the release', () => {
    const names = namesOf(umbrella('portcullis-standalone', ['portcullis-standalone'], {}))
    assert.ok(names.includes('Deployment/shop'))
  })
})
