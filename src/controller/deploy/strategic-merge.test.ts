import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { JsonObject } from '../../model/json.ts'
import { strategicMerge } from './strategic-merge.ts'

describe('a strategic merge patch', () => {
  const cases: readonly (readonly [string, JsonObject, JsonObject, JsonObject])[] = [
    ['merges objects', { a: { b: 1, c: 2 } }, { a: { c: 3 } }, { a: { b: 1, c: 3 } }],
    [
      'removes what is null',
      { a: 1, b: { c: 1, d: 1 } },
      { a: null, b: { c: null } },
      { b: { d: 1 } },
    ],
    ['leaves no null in what is new', {}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
    ['replaces lists without names', { args: ['a'] }, { args: ['b'] }, { args: ['b'] }],
    [
      'replaces tolerations',
      { tolerations: [{ key: 'a' }] },
      { tolerations: [] },
      { tolerations: [] },
    ],
    [
      'merges containers by name, and keeps their order',
      { containers: [{ name: 'a', image: '1' }, { name: 'b' }] },
      { containers: [{ name: 'c' }, { name: 'a', tty: true }] },
      { containers: [{ name: 'a', image: '1', tty: true }, { name: 'b' }, { name: 'c' }] },
    ],
    [
      'merges variables within containers',
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '1' },
            ],
          },
        ],
      },
      { containers: [{ name: 'a', env: [{ name: 'Y', value: '2' }] }] },
      {
        containers: [
          {
            name: 'a',
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '2' },
            ],
          },
        ],
      },
    ],
    [
      'deletes items of a list',
      { volumes: [{ name: 'a' }, { name: 'b' }] },
      {
        volumes: [
          { name: 'a', $patch: 'delete' },
          { name: 'x', $patch: 'delete' },
        ],
      },
      { volumes: [{ name: 'b' }] },
    ],
    [
      'replaces a list of named items where it says so',
      { volumes: [{ name: 'a' }, { name: 'b' }] },
      { volumes: [{ $patch: 'replace' }, { name: 'c' }] },
      { volumes: [{ name: 'c' }] },
    ],
    [
      'replaces an object where it says so',
      { securityContext: { a: 1 } },
      { securityContext: { $patch: 'replace', b: 2 } },
      { securityContext: { b: 2 } },
    ],
    [
      'empties an object where it says so',
      { securityContext: { a: 1 } },
      { securityContext: { $patch: 'delete' } },
      { securityContext: {} },
    ],
    [
      'merges ports of containers by containerPort',
      { ports: [{ containerPort: 1, name: 'a' }] },
      { ports: [{ containerPort: 1, hostPort: 2 }] },
      { ports: [{ containerPort: 1, name: 'a', hostPort: 2 }] },
    ],
    [
      'merges ports of Services by port',
      { ports: [{ port: 80, name: 'a' }] },
      { ports: [{ port: 80, nodePort: 30_080 }, { port: 81 }] },
      { ports: [{ port: 80, name: 'a', nodePort: 30_080 }, { port: 81 }] },
    ],
    [
      'keeps only the named keys',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
      { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      { strategy: { type: 'Recreate' } },
    ],
    [
      'adds to finalizers and takes from them',
      { finalizers: ['a', 'b'] },
      { finalizers: ['c'], '$deleteFromPrimitiveList/finalizers': ['a'] },
      { finalizers: ['b', 'c'] },
    ],
    ['ignores an order', { a: [1] }, { '$setElementOrder/a': [1] }, { a: [1] }],
    ['puts an object in place of something else', { a: 'x' }, { a: { b: 1 } }, { a: { b: 1 } }],
  ]
  for (const [what, base, patch, merged] of cases) {
    it(what, () => {
      const before = JSON.stringify(base)
      assert.deepEqual(strategicMerge(base, patch), merged)
      assert.equal(JSON.stringify(base), before)
    })
  }
})
