import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runToCompletion } from '../../model/steps.ts'
import { loadText } from '../../sources/file/load.ts'
import { certainErrors } from './certain.ts'
import { lint } from './lint.ts'

const TOKEN = `    jwtAuthentication: { issuer: 'https://i.example', audiences: [a], jwks: { inline: '{"keys":[]}' } }\n`

interface Written {
  readonly rules: readonly string[]
  readonly match?: string
  readonly more?: string
}

function modelOf({ rules, match, more = '' }: Written) {
  const own = rules.map((rule) => `      - ${rule}\n`).join('')
  const matches = match === undefined ? '' : `  matches: [${match}]\n`
  const text = `gateways:\n  default: { port: 8080 }\nroutes:\n- name: api\n${matches}  policies:\n${more}    authorization:\n      rules:\n${own}  backends: [{ host: 'a:80' }]\n`
  const { value, diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === 'error'),
    [],
  )
  assert.ok(value)
  return value
}

const said = (written: Written) =>
  lint(modelOf(written)).map(({ diagnostic: { severity, code } }) => `${severity} ${code}`)

describe('lint: impossible methods, hosts and paths', () => {
  for (const [rule, expected] of [
    ["allow: request.method == 'get'", ['error AZ022']],
    ['allow: "\'get\' == request.method"', ['error AZ022']],
    ["allow: request.method in ['get', 'post']", ['error AZ022']],
    ["allow: request.method in ['get', 'GET']", []],
    ["allow: request.method == 'get' || request.path == '/a'", ['warning AZ022']],
    ["allow: request.method == 'get' && request.path == '/a'", ['error AZ022']],
    ["require: request.method != 'get'", ['warning AZ010', 'warning AZ022']],
    ["allow: request.host == 'a.test:80'", ['error AZ022']],
    ["allow: request.host == 'A.test'", ['error AZ022']],
    ["allow: request.host == 'https://a.test'", ['error AZ022']],
    ["allow: request.host == '*.a.test'", ['error AZ022']],
    ["allow: request.host == '[::1]'", []],
    ["allow: request.path == 'admin'", ['error AZ022']],
    ["allow: request.path.startsWith('admin/')", ['error AZ022']],
    ["allow: request.path == '/a?b=1'", ['error AZ022']],
    ["allow: request.path == '/a/../b'", ['error AZ022']],
    ["allow: request.path == '*'", ['error AZ022']],
    ["allow: request.path == '/a*'", ['warning AZ023']],
    ["allow: request.path in ['/b', '/a/*/c']", ['warning AZ023']],
    ["allow: request.path.startsWith('/a*/')", []],
  ] as const) {
    it(rule, () => assert.deepEqual([...said({ rules: [rule] })].sort(), expected))
  }
})

describe('lint: valid rules are not reported', () => {
  const ALLOW = "allow: request.method == 'GET'"
  for (const [what, written, expected] of [
    [
      'a Deny on a header that the match demands',
      {
        rules: ["deny: request.headers['x-a'] != '1'", ALLOW],
        match: `{ path: { pathPrefix: / }, headers: [{ name: X-A, value: { regex: '.+' } }] }`,
      },
      [],
    ],
    [
      'and one that only one of two matches demands',
      {
        rules: ["deny: request.headers['x-a'] != '1'", ALLOW],
        match: `{ path: { pathPrefix: /a }, headers: [{ name: x-a, value: { regex: '.+' } }] }, { path: { pathPrefix: /b } }`,
      },
      ['error AZ002'],
    ],
    [
      'a prefix that the match ends at a segment',
      {
        rules: ["allow: request.path.startsWith('/api')"],
        match: '{ path: { pathPrefix: /api } }',
      },
      [],
    ],
    [
      'a prefix below which the match begins',
      { rules: ["allow: request.path.startsWith('/a')"], match: '{ path: { pathPrefix: /a/b } }' },
      [],
    ],
    [
      'a prefix that the match leaves open',
      { rules: ["allow: request.path.startsWith('/a/b')"], match: '{ path: { pathPrefix: /a } }' },
      ['warning AZ012'],
    ],
    [
      'a Deny on the one path of the route',
      { rules: ["deny: request.path == '/a'", ALLOW], match: '{ path: { exact: /a } }' },
      [],
    ],
    ['a claim with a name of its own', { rules: ['allow: jwt.score == 1'], more: TOKEN }, []],
    ['the plural of a usual claim', { rules: ["allow: jwt.emails == 'a'"], more: TOKEN }, []],
    [
      'letters in the wrong order',
      { rules: ["allow: jwt.emial == 'a'"], more: TOKEN },
      ['warning AZ019'],
    ],
    ['the key beside', { rules: ["allow: jwt.tenanr == 'a'"], more: TOKEN }, ['warning AZ019']],
    ...[
      "jwt.claims.sub == 'a'",
      "jwt['claims'].sub == 'a'",
      'has(jwt.claims)',
      "'sub' in jwt.claims",
      "'claims' in jwt",
      "jwt.claims['sub'] == 'a'",
    ].map(
      (rule) =>
        [
          `claims below claims: ${rule}`,
          { rules: [`allow: "${rule}"`], more: TOKEN },
          ['warning AZ024'],
        ] as const,
    ),
    [
      'one element of a claim that is a list',
      { rules: ["allow: jwt.roles[0] == 'a'", "allow: jwt.groups.join('') == 'a'"], more: TOKEN },
      [],
    ],
    [
      'a member of a claim that is a list, and one text',
      { rules: ["allow: jwt.realm_access.roles == 'a'"], more: TOKEN },
      ['warning AZ014'],
    ],
  ] as readonly (readonly [string, Written, readonly string[]])[]) {
    it(what, () => {
      const own = said(written).filter((one) => one !== 'warning AZ010' && one !== 'warning AZ013')
      assert.deepEqual(own, expected)
    })
  }

  for (const list of ['jwt.groups', 'jwt.realm_access.roles', "jwt.resource_access['x'].roles"]) {
    it(`names the danger of \`contains\` on a list: ${list}`, () => {
      const rules = [`allow: ${list}.contains('a')`]
      const [found] = lint(modelOf({ rules, more: TOKEN }))
      assert.equal(found?.diagnostic.code, 'AZ014')
      assert.match(found?.diagnostic.message ?? '', /usually a list/)
      assert.doesNotMatch(found?.diagnostic.message ?? '', /also matches/)
      assert.equal(found?.diagnostic.hint?.includes(`'a' in ${list}`), true)
    })
  }
})

describe('errors that are cheap to find', () => {
  const certain = (written: Written) =>
    runToCompletion(certainErrors(modelOf(written))).map(({ diagnostic: { code } }) => code)
  for (const [what, written, expected] of [
    ['a token that nothing verifies', { rules: ["allow: jwt.sub == 'a'"] }, ['AZ001']],
    ['one that is verified', { rules: ["allow: jwt.sub == 'a'"], more: TOKEN }, []],
    ['one beside another way', { rules: ["allow: jwt.sub == 'a' || request.method == 'GET'"] }, []],
    ['the server name', { rules: ["require: destination.hostname == 'a'"] }, ['AZ004']],
    ['a range as text', { rules: ["allow: string(source.address) == '10.0.0.0/8'"] }, ['AZ003']],
    ['a method in lower case', { rules: ["allow: request.method == 'get'"] }, ['AZ022']],
    ['a name in a text', { rules: ["allow: request.headers['x'] == 'jwt'"] }, []],
    ['nothing', { rules: ["allow: request.method == 'GET' && request.path == '/a'"] }, []],
  ] as readonly (readonly [string, Written, readonly string[]])[]) {
    it(what, () => assert.deepEqual(certain(written), expected))
  }
})
