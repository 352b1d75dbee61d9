import { defineCodes } from './define.ts'

const CASES = 'name: reading\nconfig: gateway.yaml\n'

export const TESTING_CODES = defineCodes('PC06', 'Test files', [
  {
    code: 'PC0601',
    severity: 'error',
    title: 'a test file cannot be read',
    explanation:
      'The file of cases is not there, may not be read, or is not YAML. The message says what the ' +
      'reader met; the place is where it stopped. Nothing of the file was run, so the command ' +
      'fails rather than report that nothing failed.',
    example: {
      language: 'yaml',
      wrong: `${CASES}requests: [`,
      right: `${CASES}requests:\n- { path: /orders, expect: 200 }`,
    },
  },
  {
    code: 'PC0602',
    severity: 'error',
    title: 'something in a test file is not understood',
    explanation:
      'A key is misspelt, a value is of the wrong type, or something is missing: each file has a ' +
      'name, a configuration and requests, and each request says what is expected of it. What is ' +
      'not understood is refused rather than skipped, since a case that checks nothing looks like ' +
      'one that passes.',
    example: {
      language: 'yaml',
      wrong: `${CASES}requests:\n- { path: /orders, expects: 200 }`,
      right: `${CASES}requests:\n- { path: /orders, expect: 200 }`,
    },
  },
])
