import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from '../../sources/file/load.ts'
import { lint } from './lint.ts'

const DOCUMENT = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'orders', version: '1' },
  paths: {
    '/orders': {
      get: { operationId: 'listOrders', responses: {} },
      post: { operationId: 'createOrder', responses: {} },
    },
  },
})

const ORDERS = `{ name: orders, openapi: { host: 'orders:80', schema: '${DOCUMENT}' } }`
const FILES = "{ name: files, mcp: { host: 'files:80' } }"
const SHELL =
  '{ name: shell, stdio: { cmd: shell }, policies: { mcpAuthorization: { rules: [{ allow: "mcp.tool.name == \'run\'" }] } } }'

function said(targets: readonly string[], ...rules: readonly string[]): readonly string[] {
  const own = rules.map((rule) => `      - ${rule}\n`).join('')
  const policies = own === '' ? '' : `  policies:\n    mcpAuthorization:\n      rules:\n${own}`
  const list = targets.map((target) => `  - ${target}\n`).join('')
  const text = `gateways: { default: { port: 8080 } }\nmcp:\n  targets:\n${list}${policies}`
  return found(text)
}

function found(text: string): readonly string[] {
  const { value, diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === 'error'),
    [],
  )
  assert.ok(value)
  return lint(value)
    .filter(({ diagnostic: { code } }) => code >= 'AZ030')
    .map(({ diagnostic: { code, severity, message } }) => `${severity} ${code} ${message}`)
}

/** Messages that name no tool are denied only if no tool at all could be allowed. */
const ABOUT_CALLS: readonly (readonly [rules: readonly string[], said: string])[] = [
  [
    ['require: has(mcp.tool) && !has(mcp.tool)'],
    'no call can satisfy this rule, so all calls are denied',
  ],
  [
    ["allow: mcp.tool.target == 'files' && !has(mcp.tool)"],
    'no call can satisfy this rule, so it admits no calls',
  ],
  [['deny: has(mcp.tool) || !has(mcp.tool)'], 'every call satisfies this rule'],
  [
    ["allow: mcp.tool.arguments.path == '/srv'", 'deny: has(mcp.tool)', 'allow: has(mcp.prompt)'],
    'this rule admits no calls: Deny or Require rules deny every call that it matches',
  ],
  [
    ["require: mcp.tool.name == 'a'", "deny: mcp.tool.name == 'a'"],
    'no call is admitted at backend mcp: its rules together deny every call',
  ],
]

describe('lint about rules that only calls can decide', () => {
  for (const [rules, expected] of ABOUT_CALLS) {
    it(`says of ${rules.join(', ')} what they do to calls`, () => {
      const listed = rules.map((rule) => `{ ${rule} }`).join(', ')
      const text = `gateways: { default: { port: 8080 } }
mcp: { targets: [${FILES}], policies: { mcpAuthorization: { rules: [${listed}] } } }`
      const { value } = loadText(text, 'a.yaml', { environment: {} }).result
      const messages = lint(value ?? assert.fail()).map(({ diagnostic }) => diagnostic)
      assert.deepEqual(
        messages.filter(({ code }) => code === 'AZ010').map(({ message }) => message),
        [expected],
      )
    })
  }
})

describe('lint about tools of MCP servers', () => {
  for (const [what, targets, rules, expected] of [
    [
      'a tool that the document has',
      [ORDERS],
      ["allow: mcp.tool.name == 'listOrders'", "deny: mcp.tool.name in ['createOrder']"],
      [],
    ],
    [
      'a tool that it does not have',
      [ORDERS],
      ["allow: mcp.tool.name == 'listorders'"],
      ['error AZ030 unknown tool `listorders`: this rule never matches'],
    ],
    [
      'one of several',
      [ORDERS],
      ["allow: mcp.tool.name in ['listOrders', 'dropOrders']"],
      ['warning AZ030 unknown tool `dropOrders`'],
    ],
    [
      'a rule that matches all the same',
      [ORDERS],
      ["require: mcp.tool.name != 'dropOrders'"],
      ['warning AZ030 unknown tool `dropOrders`'],
    ],
    [
      'a server whose tools only it knows',
      [ORDERS, FILES],
      ["allow: mcp.tool.name == 'anything'"],
      [],
    ],
    [
      'an unknown server',
      [ORDERS, FILES],
      ["allow: mcp.tool.target == 'fies'", "allow: mcp.prompt.target == 'files'"],
      ['error AZ030 unknown MCP server `fies`: this rule never matches'],
    ],
    [
      'an unknown server of resources',
      [FILES],
      ["deny: mcp.resource.target == 'orders' || mcp.tool.name == 'x'"],
      ['warning AZ030 unknown MCP server `orders`'],
    ],
    [
      'arguments in a list',
      [FILES],
      [`allow: "mcp.methodName == 'tools/list' && mcp.tool.arguments.path == '/srv'"`],
      [
        'error AZ031 `mcp.tool.arguments.path` is known only for `tools/call`, and no call can satisfy this rule',
      ],
    ],
    ['arguments of calls', [FILES], ["allow: mcp.tool.arguments.path == '/srv'"], []],
    [
      'calls without a list',
      [FILES],
      [`allow: "mcp.methodName == 'tools/call' && mcp.tool.name == 'read'"`],
      ['warning AZ032 this rule allows calls to tools that are not listed'],
    ],
    [
      'calls with a list',
      [FILES],
      [
        `allow: "mcp.methodName == 'tools/call' && mcp.tool.name == 'read'"`,
        "allow: mcp.methodName == 'tools/list'",
      ],
      [],
    ],
    [
      'a requirement that no list satisfies',
      [FILES],
      [
        `require: "has(mcp.tool) && mcp.methodName == 'tools/call' && mcp.tool.name == 'read'"`,
        "allow: 'true'",
      ],
      ['warning AZ032 this rule hides the tools from lists whose calls it allows'],
    ],
    [
      'a requirement for calls',
      [FILES],
      [`require: "mcp.methodName != 'tools/call' || mcp.tool.arguments.path != '/'"`],
      [],
    ],
    [
      'one server with rules',
      [FILES, SHELL],
      [],
      ['warning AZ033 anyone can use `files`, while `shell` of the same backend has rules'],
    ],
    ['and rules for all', [FILES, SHELL], ["require: request.host == 'a.test'"], []],
  ] as const) {
    it(what, () => assert.deepEqual(said(targets, ...rules), expected))
  }

  it('warns of a server that receives the tokens of clients', () => {
    const of = (own: string, backend: string) =>
      found(`gateways: { default: { port: 8080 } }
backends:
- name: tools
  mcp: { targets: [{ name: files, mcp: { host: 'a:80' }${own} }] }
  policies: {${backend}}
routes:
- { name: a, backends: [{ backend: tools }] }`)
    const warning = ['warning AZ034 `files` gets the tokens that clients send to the gateway']
    const passed = 'backendAuth: { passthrough: {} }'
    const key = 'backendAuth: { key: a }'
    assert.deepEqual(of(`, policies: { ${passed} }`, ''), warning)
    assert.deepEqual(of('', passed), warning)
    assert.deepEqual(of(`, policies: { ${key} }`, passed), [])
    assert.deepEqual(of(`, policies: { ${key} }`, ''), [])
  })

  it('a rule of two backends applies to the servers of both', () => {
    const backend = (name: string, target: string) =>
      `- { name: ${name}, mcp: { targets: [{ name: ${target}, mcp: { host: 'a:80' } }] } }\n`
    const rule = `{ allow: "mcp.tool.target == 'two'" }`
    const text = `gateways: { default: { port: 8080 } }
routes:
- name: a
  policies: { mcpAuthorization: { rules: [${rule}] } }
  backends: [{ backend: one, weight: 1 }, { backend: two, weight: 1 }]
backends:
${backend('one', 'one')}${backend('two', 'two')}`
    assert.deepEqual(found(text), [])
    assert.equal(found(text.replace("== 'two'", "== 'none'")).length, 1)
  })
})
