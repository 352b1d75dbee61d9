import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  decide,
  headersOf,
  modelOf,
  policies,
  programOf,
  TestServices,
} from '../../../test/program/models.ts'
import { compileProgram } from '../../program/compile.ts'
import { policySchema } from '../schema.ts'
import type { OpenSignIn } from './sign-in.ts'

const OIDC = {
  issuer: 'https://login.example',
  clientId: 'app',
  redirectUri: 'https://app.example/oauth2/callback',
}

/** A session cookie of the client names the user. */
const open: OpenSignIn = ({ name }) => ({
  begin: async (returnTo) => ({ location: `https://login.example/?${returnTo}`, cookies: ['f=1'] }),
  finish: async (query) => ({ location: `/after${query}`, cookies: ['s=1', 't=2'] }),
  read: async (cookies = '') => {
    const [, sub] = new RegExp(`${name}-session\\.0=(\\w+)`).exec(cookies) ?? []
    if (sub === undefined) return undefined
    const isOld = sub === 'old'
    return {
      payload: sub === 'twice' ? '{"sub":"a","sub":"b"}' : JSON.stringify({ sub, level: 7 }),
      cookies: isOld ? [`${name}-session.0=new`] : [],
    }
  },
  logout: async (_, returnTo) => ({ location: returnTo, cookies: [] }),
  logoutByProvider: async (token) =>
    token === 'good' ? undefined : { status: 400, message: 'no', detail: 'bad token' },
})

const services = (signIn: OpenSignIn = open) =>
  Object.assign(new TestServices(), { policyDeps: { signIn } })

const cookieOf = (sub: string, oidc = OIDC) => {
  let name = ''
  const naming = services((settings) => {
    name = settings.name
    return open(settings)
  })
  programOf({ routes: [{ policies: { oidc } }] }, naming)
  return `${name}-session.0=${sub}`
}
const asked = (cookie: string, more: Readonly<Record<string, string>> = {}) => ({
  host: 'app.example',
  headers: { cookie, ...more },
})

describe('oidc', () => {
  it('claims are visible to rules of its own policy and below, not to policies beside it', async () => {
    const rules = { authorization: { rules: ["jwt.sub == 'alice' && jwt.level == 7"] } }
    const own = programOf({ routes: [{ policies: { oidc: OIDC, ...rules } }] }, services())
    assert.equal((await decide(own, asked(cookieOf('alice')))).reply, undefined)
    assert.equal((await decide(own, asked(cookieOf('bob')))).reply?.status, 403)
    const above = programOf({ gateway: { oidc: OIDC }, routes: [{ policies: rules }] }, services())
    assert.equal((await decide(above, asked(cookieOf('alice')))).reply, undefined)
    const beside = programOf(
      {
        routes: [
          {
            policies: [
              ...policies({ oidc: OIDC }, 'route', 'traffic', 'one'),
              ...policies(rules, 'route', 'traffic', 'two'),
            ],
          },
        ],
      },
      services(),
    )
    assert.equal((await decide(beside, asked(cookieOf('alice')))).reply?.status, 403)
  })

  it('rejects claims that name a member twice', async () => {
    const program = programOf({ routes: [{ policies: { oidc: OIDC } }] }, services())
    assert.equal((await decide(program, asked(cookieOf('twice')))).reply?.status, 401)
  })

  it('every policy that applies to a request must accept it', async () => {
    const other = { ...OIDC, clientId: 'other' }
    const program = programOf(
      { gateway: { oidc: OIDC }, routes: [{ policies: { oidc: other } }] },
      services(),
    )
    const both = `${cookieOf('alice')}; ${cookieOf('alice', other)}`
    assert.equal((await decide(program, asked(both))).reply, undefined)
    assert.equal((await decide(program, asked(cookieOf('alice')))).reply?.status, 401)
    assert.equal((await decide(program, asked(cookieOf('alice', other)))).reply?.status, 401)
  })

  it('does not redirect a browser on another host: the redirect URI would not match it', async () => {
    const program = programOf({ routes: [{ policies: { oidc: OIDC } }] }, services())
    const page = { headers: { accept: 'text/html' }, url: '/a?b' }
    const own = await decide(program, { ...page, host: 'app.example:8443' })
    assert.equal(own.reply?.status, 303)
    assert.equal(headersOf(own.reply)['location'], 'https://login.example/?/a?b')
    assert.equal((await decide(program, { ...page, host: 'other.example' })).reply?.status, 401)
  })

  it('sends cookies of a renewed session with every response', async () => {
    const rules = { authorization: { rules: [{ deny: 'true' }] } }
    const program = programOf({ routes: [{ policies: { oidc: OIDC, ...rules } }] }, services())
    const { exchange, reply } = await decide(program, asked(cookieOf('old')))
    assert.equal(reply?.status, 403)
    assert.match(String(exchange.responseEdit.added), /^set-cookie,.*=new$/)
  })

  it('forwards no session to the backend, of any policy', async () => {
    const program = programOf(
      { routes: [{ policies: { oidc: { ...OIDC, mode: 'Optional' } } }] },
      services(),
    )
    const cookies = `a=1; __Host-portcullis-oidc-00-session.0=x;b=2; ${cookieOf('alice')}`
    const { exchange } = await decide(program, asked(cookies))
    assert.deepEqual(exchange.requestEdit.added, [['cookie', 'a=1; b=2']])
  })

  it('without a cookie key, reports an error and admits no client', async () => {
    const model = modelOf({ routes: [{ policies: { oidc: { ...OIDC, mode: 'Optional' } } }] })
    const program = compileProgram(
      model,
      undefined,
      services(() => undefined),
    )
    assert.deepEqual(
      program.diagnostics.map(({ code, severity }) => [code, severity]),
      [['PC0407', 'error']],
    )
    assert.equal((await decide(program)).reply?.status, 503)
  })

  for (const [what, value] of [
    ['an issuer without TLS', { ...OIDC, issuer: 'http://login.example' }],
    ['an issuer with a password', { ...OIDC, issuer: 'https://a:b@login.example' }],
    ['a redirect URI with a query', { ...OIDC, redirectUri: 'https://app.example/cb?x=1' }],
    ['a redirect URI without a path', { ...OIDC, redirectUri: 'https://app.example' }],
    ['no redirect URI', { issuer: OIDC.issuer, clientId: OIDC.clientId }],
    ['two redirect URIs', { ...OIDC, redirectURI: OIDC.redirectUri }],
    ['no client', { issuer: OIDC.issuer, redirectUri: OIDC.redirectUri }],
  ] as const) {
    it(`${what} is an error`, () => {
      assert.equal(policySchema('oidc').safeParse(value).success, false)
    })
  }

  it('accepts both spellings of the redirect URI, and always requests `openid`', () => {
    const { redirectUri, ...rest } = OIDC
    const written = { ...rest, redirectURI: redirectUri, scopes: ['email'] }
    const read = policySchema('oidc').parse(written) as Record<string, unknown>
    assert.deepEqual([read['redirectUri'], read['scopes']], [redirectUri, ['openid', 'email']])
    assert.equal('redirectURI' in read, false)
  })
})
