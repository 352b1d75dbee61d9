import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk'
import { exportJWK, exportPKCS8, FlattenedSign, generateKeyPair, importJWK, type JWK } from 'jose'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Agent, startAgent } from './agent.ts'

/*
 * Signatures of cards: those of agents come from jose and the SDK, and both verify those of the
 * gateway.
 */

const ALGORITHMS = ['ES256', 'ES384', 'ES512', 'RS256', 'EdDSA'] as const

type Card = Record<string, unknown> & { signatures?: readonly Signature[] }
interface Signature {
  readonly protected: string
  readonly signature: string
}

const CARD: Card = {
  // Out of order, with the cases of RFC 8785: escapes, numbers, members sorted by UTF-16.
  version: '1',
  name: 'Pay \u20ac\u0001"\\/',
  description: 'Ünïcödé \ud83d\ude00',
  supportedInterfaces: [
    { url: 'http://agent.internal/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: false, extensions: [{ uri: 'urn:x', params: { n: 1e21, m: 0.1 } }] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'a', name: 'a', description: 'a', tags: ['t'] }],
}

/** RFC 8785 by hand, independent of the code under test: sorted members, no white space. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, own]) => `${JSON.stringify(name)}:${canonical(own)}`).join(',')}}`
}

interface Signer {
  readonly key: CryptoKey
  readonly jwk: JWK
  readonly pem: string
  readonly alg: string
}

async function signerOf(alg: string, kid: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid, alg }
  return { key: privateKey, jwk, pem: await exportPKCS8(privateKey), alg }
}

async function signed(card: Card, { key, jwk, alg }: Signer, header: object = {}): Promise<Card> {
  const { signatures: _, ...rest } = card
  const jws = await new FlattenedSign(Buffer.from(canonical(rest)))
    .setProtectedHeader({ alg, typ: 'JOSE', kid: jwk.kid as string, ...header })
    .sign(key)
  return { ...rest, signatures: [{ protected: jws.protected as string, signature: jws.signature }] }
}

let agentServer: Server
let agent: Agent
let running: Deciding
let port = 0
/** The agent's card, and its keys at `/keys`. */
let card = ''
let keySet: { keys: JWK[] } = { keys: [] }
let owner: Signer
let stranger: Signer

const at = (server: Server) => (server.address() as AddressInfo).port

async function serve(a2a: object, host = `127.0.0.1:${at(agentServer)}`): Promise<void> {
  await running.apply(configOf(a2a, host))
}

function configOf(a2a: object, host: string): string {
  return JSON.stringify({
    gateways: { default: { port } },
    routes: [
      {
        matches: [{ path: { pathPrefix: '/agent' } }],
        policies: { urlRewrite: { path: { prefix: '/' } } },
        backends: [{ host, policies: { a2a } }],
      },
    ],
  })
}

async function get(path = '/.well-known/agent-card.json') {
  const response = await fetch(`http://127.0.0.1:${port}/agent${path}`, {
    headers: { 'a2a-version': '1.0' },
  })
  const text = await response.text()
  return { status: response.status, text }
}

async function cardFrom(path?: string): Promise<Card> {
  const { status, text } = await get(path)
  assert.equal(status, 200, text)
  return JSON.parse(text) as Card
}

const local = (...signers: readonly Signer[]) => ({
  jwks: { inline: JSON.stringify({ keys: signers.map(({ jwk }) => jwk) }) },
})

// The SDK logs each signature that does not verify.
const { debug } = console

describe('signatures of agent cards', () => {
  before(async () => {
    console.debug = () => {}
    ;[owner, stranger] = await Promise.all([signerOf('ES256', 'one'), signerOf('ES256', 'one')])
    agentServer = createServer((request, response) => {
      response.end(request.url === '/keys' ? JSON.stringify(keySet) : card)
    })
    await new Promise<void>((done) => agentServer.listen(0, '127.0.0.1', done))
    port = await freePort()
    running = await startDeciding(configOf({}, `127.0.0.1:${at(agentServer)}`))
    agent = await startAgent('', owner.key)
  })

  after(async () => {
    console.debug = debug
    await running?.stop()
    await agent?.close()
    agentServer?.close()
    agentServer?.closeAllConnections()
  })

  for (const alg of ALGORITHMS) {
    it(`${alg}: a card that its owner signed passes without the signature`, async () => {
      const signer = await signerOf(alg, `key-${alg}`)
      await serve({ verify: local(signer) })
      card = JSON.stringify(await signed(CARD, signer), undefined, 2)
      const own = await cardFrom()
      assert.equal(own.signatures, undefined)
      assert.deepEqual(own.skills, CARD.skills)
    })

    it(`${alg}: signatures of the gateway verify with jose and the SDK`, async () => {
      const signer = await signerOf(alg, 'gateway')
      const jwksUrl = 'https://agents.example.com/keys.json'
      await serve({ sign: { key: signer.pem, keyId: 'gateway', jwksUrl } })
      card = JSON.stringify(CARD)
      const own = await cardFrom()
      const { signatures = [], ...rest } = own
      assert.equal(signatures.length, 1)
      const header = JSON.parse(Buffer.from(signatures[0]?.protected ?? '', 'base64url').toString())
      assert.deepEqual(header, { alg, typ: 'JOSE', kid: 'gateway', jku: jwksUrl })
      const { flattenedVerify } = await import('jose')
      const payload = Buffer.from(canonical(rest)).toString('base64url')
      const key = (await importJWK(signer.jwk, alg)) as CryptoKey
      await flattenedVerify({ ...(signatures[0] as Signature), payload }, key)
      await verifyAgentCardSignature(async () => key)(own as unknown as AgentCard)
      const changed = { ...own, name: 'Other' } as unknown as AgentCard
      await assert.rejects(verifyAgentCardSignature(async () => key)(changed))
    })
  }

  it('a card without a required signature is a 502', async () => {
    await serve({ verify: local(owner) })
    const good = await signed(CARD, owner)
    const [signature] = good.signatures as readonly [Signature]
    const none = Buffer.from(JSON.stringify({ alg: 'none', kid: 'one' })).toString('base64url')
    const text = JSON.stringify(good)
    const cases: Readonly<Record<string, string>> = {
      unsigned: JSON.stringify(CARD),
      'of another key': JSON.stringify(await signed(CARD, stranger)),
      'changed name': JSON.stringify({ ...good, name: 'Other' }),
      'further member': JSON.stringify({ ...good, iconUrl: 'http://evil.example/' }),
      'changed skill': JSON.stringify({ ...good, skills: [{ id: 'b' }] }),
      'algorithm none': JSON.stringify({
        ...good,
        signatures: [{ protected: none, signature: '' }],
      }),
      'no list': JSON.stringify({ ...good, signatures: signature }),
      'critical header': JSON.stringify(await signed(CARD, owner, { crit: ['b64'], b64: true })),
      'unknown key id': JSON.stringify(await signed(CARD, owner, { kid: 'two' })),
      'a member twice': `${text.slice(0, -1)},"name":"Other"}`,
      'a member twice, the signed one last': `{"name":"Other",${text.slice(1)}`,
    }
    for (const [what, written] of Object.entries(cases)) {
      card = written
      const { status, text: said } = await get()
      assert.equal(status, 502, `${what}: ${said}`)
      assert.ok(!said.includes('agent.internal'), what)
    }
    card = text
    assert.equal((await get()).status, 200)
  })

  it('one valid signature among others is enough, and empty members do not matter', async () => {
    await serve({ verify: local(owner) })
    const [good, bad] = [await signed(CARD, owner), await signed(CARD, stranger)]
    const signatures = [...(bad.signatures ?? []), ...(good.signatures ?? [])]
    card = JSON.stringify({ ...CARD, signatures, iconUrl: '', securityRequirements: [] })
    assert.equal((await cardFrom()).name, CARD.name)
  })

  it("members that the SDK's signature does not cover are removed", async () => {
    await serve({ verify: local(owner), sign: { key: owner.pem, keyId: 'one' } })
    const sign = generateAgentCardSignature(owner.key, { alg: 'ES256', kid: 'one', typ: 'JOSE' })
    const { signatures } = await sign(CARD as unknown as AgentCard)
    const foreign = { url: 'http://evil.example/', 'x-more': 1 }
    card = JSON.stringify({ ...CARD, ...foreign, signatures })
    const own = await cardFrom()
    assert.deepEqual([own.url, own['x-more']], [undefined, undefined])
    assert.equal(own.name, CARD.name)
  })

  it('cards with members of 0.3 get a signature for each kind of client', async () => {
    await serve({ sign: { key: owner.pem, keyId: 'one' } })
    card = JSON.stringify({
      ...CARD,
      url: 'http://agent.internal/rpc',
      preferredTransport: 'JSONRPC',
    })
    const own = await cardFrom()
    assert.equal(own.signatures?.length, 2)
    await verifyAgentCardSignature(async () => owner.jwk)(own as unknown as AgentCard)
    const { signatures = [], ...rest } = own
    const { flattenedVerify } = await import('jose')
    const payload = Buffer.from(canonical(rest)).toString('base64url')
    await flattenedVerify({ ...(signatures[0] as Signature), payload }, owner.jwk)
  })

  it('keys are fetched, and refetched for an unknown key ID', async () => {
    keySet = { keys: [stranger.jwk] }
    await serve({ verify: { jwks: { url: `http://127.0.0.1:${at(agentServer)}/keys` } } })
    const next = await signerOf('ES256', 'two')
    card = JSON.stringify(await signed(CARD, stranger))
    assert.equal((await get()).status, 200)
    keySet = { keys: [stranger.jwk, next.jwk] }
    card = JSON.stringify(await signed(CARD, next))
    assert.equal((await get()).status, 200)
    card = JSON.stringify(await signed(CARD, await signerOf('ES256', 'three')))
    assert.equal((await get()).status, 502)
  })

  it('the signature of an SDK agent is verified, and the card signed again, also in the result of a call', async () => {
    const gateway = await signerOf('EdDSA', 'gateway')
    const a2a = { verify: local({ ...owner, jwk: { ...owner.jwk, kid: 'agent' } }) }
    await serve({ ...a2a, sign: { key: gateway.pem, keyId: 'gateway' } }, `127.0.0.1:${agent.port}`)
    const verify = verifyAgentCardSignature(async () => gateway.jwk)
    const own = await cardFrom()
    await verify(own as unknown as AgentCard)
    assert.ok(JSON.stringify(own).includes(`127.0.0.1:${port}/agent/rpc`))
    const response = await fetch(`http://127.0.0.1:${port}/agent/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard', params: {} }),
    })
    const { result } = (await response.json()) as { result?: AgentCard }
    assert.ok(result, 'a card')
    await verify(result)
  })

  it('a key that cannot sign does not lead to unsigned cards', async () => {
    const { pem } = await signerOf('ES256', 'x')
    const broken = pem.replace(/\n[\w+/=]{8}/, '\nAAAAAAAA')
    await serve({ sign: { key: broken, keyId: 'x' } })
    card = JSON.stringify(CARD)
    assert.equal((await get()).status, 500)
  })
})
