// Namespaces that do not trust each other: `shop` tries with every kind of object to reach
// resources of `apps` or to change who has access there, and proxies request the configuration of
// another Gateway.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { before, describe, it } from 'node:test'
import { eventually } from './harness.ts'
import {
  ATTEMPTS,
  allowAll,
  GROUP,
  gatewayApi,
  grant,
  NOT_PERMITTED,
  policyOf,
  route,
  routePath,
  SHARED,
  to,
} from './isolation-attempts.ts'
import { type Plane, PORTCULLIS_API, PROXY_START } from './plane.ts'
import { PROVIDER, providerOf, tokenOf } from './tokens.ts'

export function describeIsolation(planeHere: () => Plane): void {
  describe('namespaces that do not trust each other', () => {
    let plane: Plane
    let [shared, closed] = [0, 0]
    let keptState = ''
    before(async () => {
      plane = planeHere()
      const first = plane.take(2)
      ;[shared, closed] = [first, first + 1]
      const mine = await plane.serve((_, response) => response.end('of apps'))
      const theirs = await plane.serve((_, response) => response.end('of shop'))
      const labelled = (object: ReturnType<typeof gatewayApi>) => ({
        ...object,
        metadata: { ...object.metadata, labels: { team: 'apps' } },
      })
      const gateway = (name: string, port: number, from: string) =>
        gatewayApi(
          'Gateway',
          name,
          {
            gatewayClassName: 'portcullis',
            listeners: [
              { name: 'http', protocol: 'HTTP', port, allowedRoutes: { namespaces: { from } } },
            ],
          },
          'apps',
        )
      plane.apply(
        labelled(gateway('shared', shared, 'All')),
        gateway('private', closed, 'Same'),
        ...plane.serviceOf('secret', mine),
        ...plane.serviceOf('own', theirs, 'shop'),
        {
          apiVersion: 'portcullis.dev/v1alpha1',
          kind: 'ProxyBackend',
          metadata: { name: 'secret', namespace: 'apps' },
          spec: { static: { host: '127.0.0.1', port: mine } },
        },
        {
          apiVersion: 'v1',
          kind: 'Secret',
          type: 'kubernetes.io/tls',
          metadata: { name: 'theirs', namespace: 'apps' },
          stringData: { 'tls.crt': 'marker-of-apps', 'tls.key': 'marker-of-apps' },
        },
        gatewayApi(
          'HTTPRoute',
          'secret',
          {
            parentRefs: [{ name: 'shared' }, { name: 'private' }],
            hostnames: ['apps.example.com'],
            ...to({ name: 'secret', port: 8080 }),
          },
          'apps',
        ),
        gatewayApi('HTTPRoute', 'shop', {
          parentRefs: [SHARED],
          hostnames: ['own.example.com'],
          ...to({ name: 'own', port: 8080 }),
        }),
        ...['shared', 'private'].map((name) =>
          policyOf(
            `${name}-alice`,
            {
              targetRefs: [{ group: GROUP, kind: 'Gateway', name }],
              traffic: {
                jwtAuthentication: { mode: 'Strict', providers: [PROVIDER] },
                authorization: {
                  action: 'Require',
                  policy: { matchExpressions: ["jwt.sub == 'alice'"] },
                },
              },
            },
            'apps',
          ),
        ),
      )
      for (const name of ['shared', 'private']) await plane.giveAddress(name)
      const running = await plane.startProxy('shared')
      await plane.startProxy('private')
      for (const name of ['shared-alice', 'private-alice']) {
        await plane.conditions(`${PORTCULLIS_API}/namespaces/apps/proxypolicies/${name}`, {
          Programmed: 'True Programmed',
        })
      }
      await plane.conditions(routePath('shop'), { Accepted: 'True Accepted' })
      assert.deepEqual(await outcomes(), EXPECTED)
      keptState = plane.programs.stateOf('shared', running.first) ?? ''
    })

    interface Asked {
      readonly host: string
      readonly port: number
      readonly token?: string
    }
    const ask = ({ host, port, token }: Asked): Promise<string> =>
      new Promise((resolve) => {
        const headers = { host, ...(token && { authorization: `Bearer ${token}` }) }
        const where = { host: '127.0.0.1', port, agent: false, headers }
        const sent = request(where, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
          response.on('end', () =>
            resolve(response.statusCode === 200 ? text : `${response.statusCode}`),
          )
        })
        sent.on('error', () => resolve('no response'))
        sent.end()
      })

    /** The status of each kind of request; it must not change, whatever `shop` creates. */
    async function outcomes(): Promise<readonly string[]> {
      const alice = tokenOf({ sub: 'alice' })
      const forged = providerOf('shop').tokenOf({ sub: 'alice' })
      const found: string[] = []
      for (const [port, name] of [
        [shared, 'shared'],
        [closed, 'private'],
      ] as const) {
        for (const host of ['apps.example.com', 'own.example.com', 'shop.example.com']) {
          for (const [who, token] of [
            ['alice', alice],
            ['bob', tokenOf({ sub: 'bob' })],
            ['forged', forged],
            ['nobody', undefined],
          ] as const) {
            const outcome = await ask({ host, port, ...(token !== undefined && { token }) })
            found.push(`${name} ${host} ${who}: ${outcome}`)
          }
        }
      }
      return found
    }
    const rows = (gateway: string, host: string, alice: string, others: readonly string[]) => [
      `${gateway} ${host} alice: ${alice}`,
      ...['bob', 'forged', 'nobody'].map(
        (who, index) => `${gateway} ${host} ${who}: ${others[index]}`,
      ),
    ]
    const GUARDED = ['403', '401', '401']
    const EXPECTED = [
      ...rows('shared', 'apps.example.com', 'of apps', GUARDED),
      ...rows('shared', 'own.example.com', 'of shop', GUARDED),
      ...rows('shared', 'shop.example.com', '404', GUARDED),
      ...rows('private', 'apps.example.com', 'of apps', GUARDED),
      ...rows('private', 'own.example.com', '404', GUARDED),
      ...rows('private', 'shop.example.com', '404', GUARDED),
    ]

    for (const [title, { objects, rejected }] of Object.entries(ATTEMPTS)) {
      it(`${title} changes nothing`, async () => {
        plane.apply(...objects)
        if (rejected !== undefined) await plane.conditions(...rejected)
        // Once this route is delivered, so is everything before it.
        const barrier = {
          parentRefs: [SHARED],
          hostnames: [`${Date.now()}.example.com`],
          ...to({ name: 'own', port: 8080 }),
        }
        plane.apply(gatewayApi('HTTPRoute', 'barrier', barrier))
        await eventually(async () => {
          const found = await ask({
            host: barrier.hostnames[0] ?? '',
            port: shared,
            token: tokenOf({ sub: 'alice' }),
          })
          return found === 'of shop' ? true : undefined
        }, 'the next configuration')
        const expected = EXPECTED.map((row) =>
          // The route of `shop` may serve its own host, with an error if that is not permitted.
          row.startsWith('shared shop.example.com') ? row.replace(/: .*/, '') : row,
        )
        const found = (await outcomes()).map((row) =>
          row.startsWith('shared shop.example.com') ? row.replace(/: (?!of apps).*/, '') : row,
        )
        assert.deepEqual(found, expected)
        for (const object of objects.toReversed()) remove(object as Named)
      })
    }

    interface Named {
      readonly kind: string
      readonly metadata: { readonly name: string; readonly namespace: string }
    }
    const remove = ({ kind, metadata }: Named) =>
      plane.cluster.kubectl([
        '-n',
        metadata.namespace,
        'delete',
        kind,
        metadata.name,
        '--wait=false',
      ])

    it('the API server rejects a target in another namespace', async () => {
      const response = await plane.cluster.ask(
        'POST',
        `${PORTCULLIS_API}/namespaces/shop/proxypolicies?fieldValidation=Strict`,
        policyOf('cross', {
          targetRefs: [{ group: GROUP, kind: 'Gateway', name: 'shared', namespace: 'apps' }],
          traffic: { authorization: allowAll },
        }),
      )
      assert.equal(response.status, 400, JSON.stringify(response.body))
      assert.match(response.body.message ?? '', /unknown field/)
    })

    it('a grant of apps gives access, and deleting it revokes the access', async () => {
      const over = route('over', to({ name: 'secret', namespace: 'apps', port: 8080 }))
      plane.apply(...grant('apps', 'HTTPRoute'), over)
      const asked = { host: 'shop.example.com', port: shared, token: tokenOf({ sub: 'alice' }) }
      const becomes = (expected: string) =>
        eventually(async () => ((await ask(asked)) === expected ? true : undefined), expected)
      await becomes('of apps')
      await plane.conditions(routePath('over'), { ResolvedRefs: 'True ResolvedRefs' })
      plane.cluster.kubectl(['-n', 'apps', 'delete', 'referencegrant', 'to-me'])
      await becomes('500')
      await plane.conditions(routePath('over'), NOT_PERMITTED)
      remove(over)
    })

    it('a token of one Gateway gets no byte of another, whatever name the proxy uses', async () => {
      assert.match(keptState, /secret/)
      const first = plane.take(3)
      plane.apply(
        gatewayApi(
          'Gateway',
          'empty',
          {
            gatewayClassName: 'portcullis',
            listeners: [{ name: 'http', protocol: 'HTTP', port: plane.take() }],
          },
          'apps',
        ),
      )
      await plane.giveAddress('empty')
      await plane.deployed('empty')
      // It has all files of the other's proxy, including its state, and its own token.
      const token = await plane.programs.tokenFor('empty')
      const other = await plane.programs.startProxy('shared', token, first)
      const state = await eventually(
        async () => plane.programs.stateOf('shared', first),
        'a configuration',
        PROXY_START,
      )
      assert.doesNotMatch(state, /secret|alice|apps\.example\.com|shared/)
      assert.match(await plane.programs.metrics(), /xds_connections\{gateway="apps\/empty"\} 1\n/)
      await plane.programs.stop(other, 'SIGKILL')
    })

    it('an account of the same name in another namespace gets nothing', async () => {
      plane.cluster.kubectl(['-n', 'shop', 'create', 'serviceaccount', 'private'])
      const first = plane.take(3)
      const token = await plane.programs.tokenFor('private', 'portcullis', 'shop')
      const before = rejections(await plane.programs.metrics())
      const other = await plane.programs.startProxy('private', token, first)
      await eventually(
        async () => {
          const now = rejections(await plane.programs.metrics())
          return now > before ? true : undefined
        },
        'a rejection',
        PROXY_START,
      )
      assert.equal(plane.programs.stateOf('private', first), undefined)
      await plane.programs.stop(other, 'SIGKILL')
    })
  })
}

function rejections(metrics: string): number {
  const found = /xds_refusals_total\{reason="unknown-gateway"\} (\d+)/.exec(metrics)
  return Number(found?.[1] ?? 0)
}
