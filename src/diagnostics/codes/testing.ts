import { defineCodes } from './define.ts'

const CASES = 'name: reading\nconfig: gateway.yaml\n'

const OPEN = configured('')
const GUARDED = configured(`
    policies: { authorization: { rules: [{ require: request.method == 'GET' }] } }`)
const COMPARED = configured(`
    policies: { authorization: { rules: [{ require: "request.headers['a'] == request.headers['b']" }] } }`)

function configured(policies: string): string {
  return `name: reading
config:
  gateways: { default: { port: 4000 } }
  routes:
  - name: api${policies}
    backends: [{ host: 127.0.0.1:8080 }]
`
}

export const TESTING_CODES = defineCodes('PC06', 'Test files', [
  {
    code: 'PC0601',
    severity: 'error',
    title: 'a test file cannot be read',
    explanation:
      'The test file does not exist, is not readable, or is not valid YAML. The message ' +
      'contains the error, and the position is where parsing stopped. No case in the file was ' +
      'run, so the command fails rather than reporting success.',
    example: {
      language: 'yaml',
      wrong: `${CASES}requests: [`,
      right: `${CASES}requests:\n- { path: /orders, expect: 200 }`,
    },
  },
  {
    code: 'PC0602',
    severity: 'error',
    title: 'invalid field in a test file',
    explanation:
      'A field is misspelled, a value has the wrong type, or something is missing: each file ' +
      'needs a name, a configuration, and requests or invariants, and each request needs an ' +
      'expected outcome. Unknown fields are rejected rather than ignored, because a case that ' +
      'checks nothing looks like one that passes.',
    example: {
      language: 'yaml',
      wrong: `${CASES}requests:\n- { path: /orders, expects: 200 }`,
      right: `${CASES}requests:\n- { path: /orders, expect: 200 }`,
    },
  },
  {
    code: 'PC0603',
    severity: 'error',
    title: 'an invariant is violated',
    explanation:
      'The configuration admits a request for which the condition of the invariant is not true. ' +
      'The message shows such a request; both the configuration and the condition were ' +
      'evaluated for it with the same code that decides in the gateway. Either a rule is ' +
      'missing, or the invariant is too strict: restrict it with `on` to a listener, route or ' +
      'backend, or with `when` to certain requests.',
    example: {
      language: 'yaml',
      wrong: `${OPEN}invariants:\n- { name: no writes, admitted: request.method == 'GET' }`,
      right: `${GUARDED}invariants:\n- { name: no writes, admitted: request.method == 'GET' }`,
    },
  },
  {
    code: 'PC0604',
    severity: 'error',
    title: 'an invariant could not be proven',
    explanation:
      'No request that violates the invariant was found, but it could not be proven that none ' +
      'exists. The message names the part of the configuration that could not be analyzed, for ' +
      'example two attributes that are compared with each other. Write that part in a form that ' +
      'is covered (docs/reference/proofs.md), restrict the invariant with `on` or `when`, or ' +
      'accept the result with `--allow-not-known`.',
    example: {
      language: 'yaml',
      wrong: `${COMPARED}invariants:\n- { name: same, admitted: "request.headers['b'] == request.headers['a']" }`,
      right: `${GUARDED}invariants:\n- { name: no writes, admitted: request.method == 'GET' }`,
    },
  },
])
