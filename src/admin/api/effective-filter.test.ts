import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keepEffective } from './effective-filter.ts'

const guarded = (...policies: readonly string[]) => ({
  guards: policies.map((policy) => ({ policy })),
})

const FOUND = {
  listeners: [
    {
      gateway: 'web',
      ...guarded('tls'),
      routes: [
        {
          route: 'orders',
          ...guarded('staff'),
          backends: [
            { backend: 'orders', ...guarded() },
            { backend: 'models', ...guarded('keys') },
          ],
        },
        {
          route: 'chat',
          ...guarded(),
          backends: [
            { backend: 'models', ...guarded('keys'), providers: [guarded('region')] },
            { backend: 'tools', ...guarded(), targets: [guarded('tools')] },
          ],
        },
      ],
    },
    { gateway: 'mesh', ...guarded(), routes: [] },
  ],
}

interface Kept {
  readonly listeners: readonly {
    readonly gateway: string
    readonly routes: readonly {
      readonly route: string
      readonly backends: readonly { readonly backend: string }[]
    }[]
  }[]
}

describe('effective policies, in both directions', () => {
  for (const [query, expected] of [
    [{}, ['web orders orders,models', 'web chat models,tools', 'mesh']],
    // Filtered by a resource: the paths that lead through it.
    [{ gateway: 'mesh' }, ['mesh']],
    [{ route: 'chat' }, ['web chat models,tools']],
    [{ backend: 'models' }, ['web orders models', 'web chat models']],
    [{ route: 'chat', backend: 'models' }, ['web chat models']],
    [{ route: 'none' }, []],
    // Filtered by a policy: what it guards, at any level.
    [{ policy: 'tls' }, ['web orders orders,models', 'web chat models,tools']],
    [{ policy: 'staff' }, ['web orders orders,models']],
    [{ policy: 'keys' }, ['web orders models', 'web chat models']],
    [{ policy: 'region' }, ['web chat models']],
    [{ policy: 'tools' }, ['web chat tools']],
    [{ policy: 'none' }, []],
    [{ policy: 'keys', route: 'chat' }, ['web chat models']],
  ] as const) {
    it(`${JSON.stringify(query)}: ${expected.join('; ') || 'nothing'}`, () => {
      const { listeners } = keepEffective(FOUND, query) as Kept
      const ways = listeners.flatMap(({ gateway, routes }) =>
        routes.length === 0
          ? [gateway]
          : routes.map(
              ({ route, backends }) =>
                `${gateway} ${route} ${backends.map(({ backend }) => backend).join()}`,
            ),
      )
      assert.deepEqual(ways, expected)
    })
  }
})
