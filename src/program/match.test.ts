import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Asked, exchangeOf } from '../../test/fuzz/exchanges.ts'
import { reachable } from '../model/hostnames.ts'
import type { Match } from '../model/route.ts'
import { runToCompletion } from '../model/steps.ts'
import { compileHosts, compileMatcher, type Hosts } from './match.ts'

/**
 * `host[,host] path [METHOD] [name:value]… [?name=value]…`: `=` is exact, `~` a regular expression.
 */
function entry(text: string) {
  const [hosts = '*', path = '/', ...rest] = text.split(' ')
  const kind = path.startsWith('=') ? 'exact' : path.startsWith('~') ? 'regex' : 'prefix'
  const method = rest.find((part) => /^[A-Z]+$/.test(part))
  const values = (mark: RegExp) =>
    rest.flatMap((part) => {
      const [, name = '', value = ''] = mark.exec(part) ?? []
      if (name === '') return []
      const isRegex = value.startsWith('~')
      return [{ name, kind: isRegex ? 'regex' : 'exact', value: isRegex ? value.slice(1) : value }]
    }) as Match['headers']
  const match: Match = {
    path: { kind, value: path.replace(/^[=~]/, '') },
    headers: values(/^([\w-]+):(.*)$/),
    query: values(/^\?(\w+)=(.*)$/),
    ...(method === undefined ? {} : { method }),
  }
  return { hostnames: hosts === '*' ? [] : hosts.split(','), match, target: text }
}

function best(routes: readonly string[], asked: Asked, hostname?: string): string {
  const options = { hostname, unmatched: 'none', rejected: 'refused' }
  return compileMatcher(routes.map(entry), options)(exchangeOf(asked))
}

describe('Gateway API: precedence of two matching routes', () => {
  for (const [what, winner, loser, asked] of [
    ['an exact host before a wildcard', 'a.example.com', '*.example.com', {}],
    [
      'an exact host before a longer wildcard and a better path',
      'a.example.com',
      '*.example.com =/x',
      {},
    ],
    ['a longer wildcard before a shorter', '*.example.com', '*.com =/x', {}],
    ['a wildcard before no host', '*.com', '* =/x GET', {}],
    ['an exact path before a prefix of the same text', '* =/x', '* /x', {}],
    ['an exact path before a prefix with a method', '* =/x', '* /x GET', {}],
    ['a longer prefix before a shorter with a method', '* /x', '* / GET', {}],
    ['a prefix before a regular expression', '* /x', '* ~/x GET', {}],
    ['a prefix / before a regular expression', '* /', '* ~/x', {}],
    ['a method before headers', '* / GET', '* / x:1 y:2', {}],
    ['more headers before more parameters', '* / x:1 y:2', '* / x:1 ?q=1 ?r=2', {}],
    ['more parameters before fewer', '* / ?q=1 ?r=2', '* / ?q=1', {}],
    ['the first of equals', '* /x x:1', '* /x y:2', {}],
    ['a header before none', '* / x:1', '* /', {}],
  ] as const) {
    it(what, () => {
      const request: Asked = {
        host: 'a.example.com',
        url: '/x?q=1&r=2',
        headers: { x: '1', y: '2' },
        ...asked,
      }
      assert.equal(best([winner, loser], request), winner)
      if (what !== 'the first of equals') assert.equal(best([loser, winner], request), winner)
    })
  }

  it('falls back to a less specific host if the specific one has no such path', () => {
    const routes = ['a.example.com /x', '*.example.com /y', '* /z']
    assert.equal(best(routes, { host: 'a.example.com', url: '/y' }), '*.example.com /y')
    assert.equal(best(routes, { host: 'a.example.com', url: '/z' }), '* /z')
    assert.equal(best(routes, { host: 'a.example.com', url: '/' }), 'none')
  })

  it('falls back to a shorter prefix if a header of the longer one is missing', () => {
    assert.equal(best(['* /a/b x:1', '* /a x:2', '* /'], { url: '/a/b/c' }), '* /')
  })
})

describe('Gateway API: match conditions', () => {
  for (const [route, asked, matches] of [
    ['* /a', { url: '/a' }, true],
    ['* /a', { url: '/a/' }, true],
    ['* /a', { url: '/a/b' }, true],
    ['* /a', { url: '/ab' }, false],
    ['* /a', { url: '/' }, false],
    ['* /a/', { url: '/a' }, true],
    ['* /a/', { url: '/a/b' }, true],
    ['* /A', { url: '/a' }, false],
    ['* =/a', { url: '/a' }, true],
    ['* =/a', { url: '/a/' }, false],
    ['* =/a', { url: '/a?q=1' }, true],
    ['* ~/a/[0-9]+', { url: '/a/12' }, true],
    ['* ~/a/[0-9]+', { url: '/a/12/b' }, false],
    ['* ~/a|/b', { url: '/b/c' }, false],
    ['* ~a', { url: '/a' }, false],
    ['* / GET', { method: 'GET' }, true],
    ['* / GET', { method: 'HEAD' }, false],
    ['* / X-A:1', { headers: { 'x-a': '1' } }, true],
    ['* / x-a:1', { headers: { 'x-a': '1, 1' } }, false],
    ['* / x-a:1', {}, false],
    ['* / x-a:~v[0-9]', { headers: { 'x-a': 'v1' } }, true],
    ['* / x-a:~v[0-9]', { headers: { 'x-a': 'v12' } }, false],
    ['* / x-a:1 x-a:2', { headers: { 'x-a': '1' } }, true],
    ['* / ?q=1', { url: '/?q=1' }, true],
    ['* / ?q=1', { url: '/?p=0&q=1' }, true],
    ['* / ?q=1', { url: '/?qq=1' }, false],
    ['* / ?q=1', { url: '/?q=2&q=1' }, false],
    ['* / ?q=1', { url: '/?%71=%31' }, true],
    ['* / ?q=', { url: '/?q' }, true],
    ['* / ?q=1', { url: '/?Q=1' }, false],
    ['*.example.com /', { host: 'a.b.example.com' }, true],
    ['*.example.com /', { host: 'example.com' }, false],
    ['*.example.com /', { host: 'notexample.com' }, false],
    ['a.com,b.com /', { host: 'b.com' }, true],
    ['a.com,b.com /', { host: 'c.com' }, false],
  ] as const) {
    it(`${route} ${matches ? 'matches' : 'does not match'} ${JSON.stringify(asked)}`, () => {
      assert.equal(best([route], asked), matches ? route : 'none')
    })
  }

  it('records the prefix that it matched', () => {
    for (const [route, url, prefix] of [
      ['* /a/', '/a/b', '/a'],
      ['* /', '/a/b', ''],
      ['* =/a/b', '/a/b', '/a/b'],
      ['* ~/a/.*', '/a/b', ''],
    ] as const) {
      const exchange = exchangeOf({ url })
      compileMatcher([entry(route)], { hostname: undefined, unmatched: '', rejected: '' })(exchange)
      assert.equal(exchange.matchedPrefix, prefix)
    }
  })

  it('rejects a request if its route has an invalid regular expression, whatever else matches', () => {
    // `a)|(/b` is not a valid expression; inside a group it would become one.
    assert.equal(best(['* ~a)|(/b', '* /c'], { url: '/b' }), 'refused')
    assert.equal(best(['* / x:~(', '* /'], { url: '/b', headers: { x: '1' } }), 'refused')
  })
})

describe('Gateway API: hostnames of listeners and routes', () => {
  for (const [listener, hostnames, reached] of [
    [undefined, ['a.com', '*.b.com'], ['a.com', '*.b.com']],
    ['a.example.com', [], []],
    ['a.example.com', ['a.example.com', 'b.example.com'], ['a.example.com']],
    ['a.example.com', ['*.example.com', '*.com'], ['*.example.com', '*.com']],
    ['*.example.com', ['a.example.com', 'a.b.example.com'], ['a.example.com', 'a.b.example.com']],
    ['*.example.com', ['example.com', 'example.org'], undefined],
    ['*.example.com', ['*.b.example.com', '*.com'], ['*.b.example.com', '*.com']],
    ['*.example.com', ['*'], []],
  ] as const) {
    it(`${listener ?? 'any name'} and ${hostnames.join(', ') || 'none'}`, () => {
      assert.deepEqual(reachable(hostnames, listener), reached)
    })
  }

  it('a host outside of the listener matches nothing', () => {
    assert.equal(best(['* /'], { host: 'a.example.com' }, '*.example.com'), '* /')
    assert.equal(best(['* /'], { host: 'example.org' }, '*.example.com'), 'none')
    assert.equal(best(['*.com /'], { host: 'a.com' }, '*.example.com'), 'none')
  })
})

describe('host tables after a change', () => {
  const routes = (paths: readonly string[]) =>
    paths.map((path, n) => ({ entries: [entry(`h${n % 200}.test ${path}`)] }))
  const stepsOf = (steps: Generator<void, Hosts<string>>) => {
    let count = 0
    for (const _ of steps) count++
    return count
  }
  const before = routes(Array.from({ length: 1_000 }, (_, n) => `/before-${n}`))
  const hosts = runToCompletion(compileHosts<string>(before))

  it('take as many steps as a first build if all routes changed', () => {
    for (const after of [
      routes(Array.from({ length: 1_000 }, (_, n) => `/after-${n}`)),
      routes(Array.from({ length: 3_000 }, (_, n) => `/after-${n}`)),
      before.slice(0, 200),
    ]) {
      assert.equal(stepsOf(compileHosts(after, hosts)), stepsOf(compileHosts<string>(after)))
    }
  })

  it('are reused except for the route that changed', () => {
    const [changed] = routes(['/changed'])
    const next = runToCompletion(compileHosts(before.with(0, changed ?? assert.fail()), hosts))
    for (const [name, table] of next.exact) {
      assert.equal(table === hosts.exact.get(name), name !== 'h0.test', name)
    }
  })

  for (const host of ['', 'h0.test ']) {
    it(`look through no other route for one that changed, of 5,000 for ${host || 'any host'}`, () => {
      let looks = 0
      const counted = (line: string) => {
        const entries = [entry(line)]
        return {
          get entries() {
            looks++
            return entries
          },
        }
      }
      const lines = Array.from({ length: 5_000 }, (_, n) => `${host || '* '}/p-${n}`)
      let groups = lines.map(counted)
      let last = runToCompletion(compileHosts<string>(groups))
      assert.ok(looks >= 5_000)
      looks = 0
      for (let round = 0; round < 50; round++) {
        groups = groups.with(round * 97, counted(`${host || '* '}/changed-${round}`))
        last = runToCompletion(compileHosts(groups, last))
      }
      assert.ok(looks <= 50 * 4, `${looks}`)
      // Another route has the same path, so its order among the others matters.
      groups = groups.with(7, counted(`${host || '* '}/p-9`))
      looks = 0
      runToCompletion(compileHosts(groups, last))
      assert.ok(looks >= 5_000)
    })
  }
})
