import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { Resolver } from './dns.ts'
import { type Answerer, serveNames } from './fixtures/name-server.ts'
import { parseHosts, parseResolvConf } from './name-files.ts'
import { type Families, systemNames } from './name-source.ts'

const BOTH: Families = { wanted: [6, 4], onlyReachable: false }
const V4: Families = { wanted: [4], onlyReachable: false }

const folder = mkdtempSync(join(tmpdir(), 'portcullis-names-'))
after(() => rmSync(folder, { recursive: true }))
const hosts = join(folder, 'hosts')
const resolvConf = join(folder, 'resolv.conf')
writeFileSync(hosts, '127.0.0.9 Pinned.test other # comment\n::9 pinned.test\n')
writeFileSync(resolvConf, 'search ns.svc.cluster.local cluster.local\noptions ndots:5\n')

async function sceneWith<T>(
  response: Answerer,
  act: (names: ReturnType<typeof systemNames>, asked: readonly string[]) => Promise<T>,
  files: { hosts?: string; resolvConf?: string } = { hosts: '/nowhere', resolvConf: '/nowhere' },
): Promise<T> {
  const server = await serveNames(response)
  const lookup = async () => []
  const servers = [server.address]
  const names = systemNames({ ...files, servers, timeout: 100, lookup })
  try {
    return await act(names, server.asked)
  } finally {
    names.close()
    server.close()
  }
}

const zone = (...addresses: readonly string[]) => ({ addresses, ttl: 7 })

describe('name servers', () => {
  it('are queried for both families, and their TTL applies', async () => {
    const response: Answerer = (_, family) =>
      family === 4 ? zone('192.0.2.1', '192.0.2.2') : { ...zone('2001:db8:0:0:0:0:0:1'), ttl: 5 }
    await sceneWith(response, async (names) => {
      const { addresses, ttl } = await names.find('api.test', BOTH)
      assert.deepEqual(
        addresses.map(({ address }) => address),
        ['2001:db8::1', '192.0.2.1', '192.0.2.2'],
      )
      assert.equal(ttl, 5_000)
    })
  })

  for (const [sentence, response, expected] of [
    ['no such name: no addresses', () => 'no-name', []],
    ['no record of the family: no addresses', () => zone(), []],
    ['one family is enough', (_, f) => (f === 4 ? zone('192.0.2.1') : 'failure'), ['192.0.2.1']],
    [
      'one family may be silent',
      (_, f) => (f === 4 ? zone('192.0.2.1') : 'silence'),
      ['192.0.2.1'],
    ],
  ] as const satisfies readonly (readonly [string, Answerer, readonly string[]])[]) {
    it(sentence, async () => {
      await sceneWith(response, async (names) => {
        const { addresses } = await names.find('api.test', BOTH)
        assert.deepEqual(
          addresses.map(({ address }) => address),
          expected,
        )
      })
    })
  }

  for (const [how, code, outcome] of [
    ['failure', 'ESERVFAIL', 'error'],
    ['silence', 'ETIMEOUT', 'timeout'],
  ] as const) {
    it(`${how} is no answer, and is counted as ${outcome}`, async () => {
      const outcomes: string[] = []
      await sceneWith(
        () => how,
        async (names) => {
          await assert.rejects(names.find('api.test', V4), { code })
          const observe = (one: string) => outcomes.push(one)
          const resolver = new Resolver({ lookupFamily: 'V4Only' }, { source: names, observe })
          assert.equal(await resolver.resolve('api.test'), 'dns')
          resolver.close()
        },
      )
      assert.deepEqual(outcomes, [outcome])
    })
  }

  it('are queried for a short name in the order of resolv.conf', async () => {
    const response: Answerer = (name) =>
      name === 'pay.dev.cluster.local' ? zone('10.0.0.1') : 'no-name'
    await sceneWith(
      response,
      async (names, asked) => {
        const { addresses } = await names.find('pay.dev', V4)
        assert.equal(addresses[0]?.address, '10.0.0.1')
        assert.deepEqual(asked, ['pay.dev.ns.svc.cluster.local 4', 'pay.dev.cluster.local 4'])
      },
      { hosts, resolvConf },
    )
  })

  it('a failure ends the search: a public name never replaces one of the cluster', async () => {
    const response: Answerer = (name) => (name === 'pay.dev' ? zone('203.0.113.1') : 'failure')
    await sceneWith(response, (names) => assert.rejects(names.find('pay.dev', V4)), {
      hosts,
      resolvConf,
    })
  })

  it('a trailing dot makes a name absolute', async () => {
    await sceneWith(
      () => zone('192.0.2.1'),
      async (names, asked) => {
        await names.find('pay.dev.', V4)
        assert.deepEqual(asked, ['pay.dev 4'])
      },
      { hosts, resolvConf },
    )
  })
})

describe('the hosts file', () => {
  it('precedes name servers, and is read again when it changes', async () => {
    await sceneWith(
      () => zone('192.0.2.1'),
      async (names, asked) => {
        const first = await names.find('pinned.test', BOTH)
        assert.deepEqual(
          first.addresses.map(({ address }) => address),
          ['127.0.0.9', '::9'],
        )
        writeFileSync(hosts, '127.0.0.10 pinned.test\n')
        const second = await names.find('pinned.test', V4)
        assert.equal(second.addresses[0]?.address, '127.0.0.10')
        assert.deepEqual(asked, [])
      },
      { hosts, resolvConf },
    )
  })

  it('maps localhost to this machine, whatever name servers return', async () => {
    await sceneWith(
      () => zone('203.0.113.1'),
      async (names, asked) => {
        for (const name of ['localhost', 'api.localhost', 'localhost.']) {
          assert.equal((await names.find(name, V4)).addresses[0]?.address, '127.0.0.1')
        }
        assert.deepEqual(asked, [])
      },
    )
  })

  it('is parsed line by line', () => {
    const parsed = parseHosts('# a\n127.0.0.1\tA b\n\nnot-an-ip c\n::1 a\r\n')
    assert.deepEqual([...parsed.keys()], ['a', 'b'])
    assert.equal(parsed.get('a')?.length, 2)
  })

  for (const [text, search, ndots] of [
    ['', [], 1],
    ['nameserver 10.0.0.1\nsearch a.test. b.test\n', ['a.test', 'b.test'], 1],
    ['domain a.test\nsearch b.test # c\noptions timeout:1 ndots:5', ['b.test'], 5],
    ['options ndots:99', [], 15],
  ] as const) {
    it(`resolv.conf ${JSON.stringify(text)}`, () =>
      assert.deepEqual(parseResolvConf(text), { search, ndots }))
  }
})
