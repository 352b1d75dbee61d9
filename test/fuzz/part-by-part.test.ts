// A configuration with k broken parts, applied part by part, compared with the same configuration
// without them, applied as a whole. Both serve the same requests, except those that the broken
// parts guard, which are denied.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Model } from '../../src/model/model.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { confine } from '../../src/sources/file/confine.ts'
import { loadText } from '../../src/sources/file/load.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { free } from '../proxy/accepting.ts'
import { startServer } from '../proxy/governed.ts'
import { steady } from '../steady-settings.ts'
import { Random } from '../truth/random.ts'
import { assertSeeds } from './assert-property.ts'
import { fuzz } from './runs.ts'

type Fields = Record<string, unknown>

interface Config {
  config: Fields
  gateways: Record<string, Fields>
  backends: Fields[]
  routes: Fields[]
  policies: Fields[]
}

const ROUTES = 8
const GATEWAYS = ['one', 'two'] as const
type GatewayName = (typeof GATEWAYS)[number]
type Ports = Readonly<Record<GatewayName, number>>

/** The routes and gateways that a broken part guards. */
interface Guarded {
  readonly routes: Set<string>
  readonly gateways: Set<string>
}

type Break = (random: Random, config: Config, guarded: Guarded) => void

function routeOf(random: Random, { routes }: Config, { routes: guarded }: Guarded): Fields {
  const route = routes[random.int(ROUTES)] as Fields
  guarded.add(String(route['name']))
  return route
}

const policiesOf = (thing: Fields) => (thing['policies'] ??= {}) as Fields
const WRONG = ['jwt.sub ==', 'request.nothing', '1 + 1', "request.method == 'x", 'nobody']

const BREAKS: readonly Break[] = [
  (random, config, guarded) => {
    const action = random.pick(['allow', 'deny', 'require'])
    const rules = [{ [action]: random.pick(WRONG) }]
    policiesOf(routeOf(random, config, guarded))['authorization'] = { rules }
  },
  (random, config, guarded) => {
    policiesOf(routeOf(random, config, guarded))[random.pick(['authorisation', 'novelty'])] = {}
  },
  (random, config, guarded) => {
    const basicAuth = { htpasswd: { file: 'gone' } }
    Object.assign(policiesOf(routeOf(random, config, guarded)), { basicAuth })
  },
  (random, config, guarded) => {
    const route = routeOf(random, config, guarded)
    delete policiesOf(route)['directResponse']
    route['backends'] = [random.pick([{ backend: 'down' }, { host: 'a b' }, { hots: 'x:1' }])]
  },
  (random, config, guarded) => {
    // The later of the two routes is invalid.
    const name = String(config.routes[random.int(ROUTES)]?.['name'])
    const path = `/twin-${config.routes.length}`
    guarded.routes.add(path.slice(1))
    const matches = [{ path: { pathPrefix: path } }]
    config.routes.push({ name, gateways: [...GATEWAYS], matches, backends: [{ backend: 'up' }] })
  },
  (random, config, guarded) => {
    const { name } = routeOf(random, config, guarded)
    const section = random.pick(['traffic', 'trafic'])
    const rules = [{ allow: section === 'traffic' ? random.pick(WRONG) : 'request.path == "/"' }]
    const own = { [section]: { authorization: { rules } } }
    config.policies.push({ name: `p${config.policies.length}`, target: { route: name }, ...own })
  },
  (random, { gateways }, guarded) => {
    const name = random.pick(GATEWAYS)
    guarded.gateways.add(name)
    const rules = [{ deny: random.pick(WRONG) }]
    policiesOf(gateways[name] as Fields)['authorization'] = { rules }
  },
  (random, { gateways }, guarded) => {
    const name = random.pick(GATEWAYS)
    guarded.gateways.add(name)
    ;(gateways[name] as Fields)[random.pick(['tsl', 'polices'])] = {}
  },
  (random, { gateways }) => {
    // The port of another gateway, which keeps serving.
    const { port } = gateways[random.pick(GATEWAYS)] as Fields
    gateways[`other-${Object.keys(gateways).length}`] = { port }
  },
]

function configuration(random: Random, ports: Ports, backend: number): Config {
  const routes = Array.from({ length: ROUTES }, (_, n) => {
    const policies: Fields = {}
    if (random.chance(0.5)) {
      const rule = random.pick(['allow', 'deny', 'require'])
      policies['authorization'] = { rules: [{ [rule]: "request.headers['x-a'] == '1'" }] }
    }
    const isDirect = random.chance(0.3)
    if (isDirect) policies['directResponse'] = { status: 200 + random.int(3), body: 'direct' }
    return {
      name: `r${n}`,
      gateways: random.some(GATEWAYS, 1 + random.int(2)),
      matches: [{ path: { pathPrefix: `/r${n}` } }],
      policies,
      ...(isDirect ? {} : { backends: [{ backend: 'up' }] }),
    }
  })
  return {
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
    gateways: { one: { port: ports.one }, two: { port: ports.two } },
    backends: [{ name: 'up', host: `127.0.0.1:${backend}` }],
    routes: [...routes, { name: 'rest', gateways: [...GATEWAYS], backends: [{ backend: 'up' }] }],
    policies: [],
  }
}

/** Returns the status, and whether a response was served. */
function send(port: number, path: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    const sent = request({ port, path, headers, host: '127.0.0.1', agent: false }, (response) => {
      let text = ''
      response.on('data', (bytes) => {
        text += bytes
      })
      response.on('end', () => {
        const isServed = text === 'served' || text === 'direct'
        resolve(`${response.statusCode}${isServed ? ` ${text}` : ''}`)
      })
    })
    sent.on('error', () => resolve('closed'))
    sent.end()
  })
}

describe('a configuration with broken parts', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const runs = fuzz(0.06)
  let backend: { readonly port: number; readonly close: () => void }
  let sides: { readonly gateway: Gateway; readonly ports: Ports }[]

  before(async () => {
    backend = await startServer((_, response) => void response.end('served'))
    sides = await Promise.all(
      [0, 1].map(async () => {
        const ports = { one: await free(), two: await free() }
        const { settings } = load(configuration(new Random(1), ports, 1))
        const log = createLogger({ format: 'json', level: 'error', write: () => {} })
        const metrics = createMetrics()
        const own = { settings: steady(settings ?? assert.fail()), log, metrics, reusePort: false }
        return { gateway: new Gateway(own), ports }
      }),
    )
  })
  after(async () => {
    await Promise.all(sides.map(({ gateway }) => gateway.drain()))
    backend.close()
    rmSync(folder, { recursive: true })
  })

  const load = (config: Config) =>
    loadText(JSON.stringify(config), join(folder, 'gateway.yaml'), { environment: {} })
  const read = (config: Config) => {
    const { result, places } = load(config)
    return confine(result, places)
  }

  it('serves the same as one without them, and denies the requests they guard', async () => {
    const [broken, whole] = sides as [(typeof sides)[number], (typeof sides)[number]]
    let denied = 0
    let compared = 0
    await assertSeeds('part-by-part', runs, async (seed) => {
      const what = `seed ${seed}`
      const random = new Random(seed)
      const config = configuration(new Random(seed), broken.ports, backend.port)
      const good = configuration(new Random(seed), whole.ports, backend.port)
      const guarded: Guarded = { routes: new Set(), gateways: new Set() }
      for (let left = random.int(5); left > 0; left--) random.pick(BREAKS)(random, config, guarded)
      const model: Model = read(config).value ?? assert.fail(`${what}: rejected as a whole`)
      assert.ok((await broken.gateway.apply(model, false)).isApplied, what)
      assert.ok((await whole.gateway.apply(read(good).value ?? assert.fail())).isApplied, what)
      const paths = config.routes.flatMap(({ name, matches }) =>
        matches === undefined ? ['/'] : [`/${String(name)}`],
      )
      for (const path of [...new Set([...paths, ...[...guarded.routes].map((one) => `/${one}`)])]) {
        for (const name of GATEWAYS) {
          const headers = random.chance(0.5) ? { 'x-a': '1' } : {}
          const [now, then] = await Promise.all([
            send(broken.ports[name], path, headers),
            send(whole.ports[name], path, headers),
          ])
          const at = `${what}: ${name} ${path} ${JSON.stringify(headers)}, ${then} without them`
          const isHere = isServedAt(config, path, name)
          if (guarded.gateways.has(name) || (guarded.routes.has(path.slice(1)) && isHere)) {
            assert.match(now, /^(closed|40[13]|404|500)$/, at)
            denied++
          } else {
            assert.equal(now, then, at)
            compared++
          }
        }
      }
    })
    const enough = runs.numRuns
    assert.ok(denied > enough && compared > enough, `${denied} denied, ${compared} compared`)
  })
})

/**
 * A route that is not attached to a gateway guards nothing there; the `rest` route serves the path.
 */
function isServedAt({ routes }: Config, path: string, gateway: string): boolean {
  const own = routes.find(({ matches }) => JSON.stringify(matches)?.includes(`"${path}"`))
  return (own?.['gateways'] as readonly string[] | undefined)?.includes(gateway) === true
}
