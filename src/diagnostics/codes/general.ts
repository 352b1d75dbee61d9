import { defineCodes } from './define.ts'

const GATEWAY = 'gateways:\n  default: { port: 8080 }\n'

export const GENERAL_CODES = defineCodes('PC00', 'General', [
  {
    code: 'PC0001',
    severity: 'info',
    title: 'more messages were omitted',
    explanation:
      'At most 1,000 messages are shown for one input, errors before warnings. So many messages ' +
      'often have a single cause, such as a misspelled field in every entry of a list. Fix the ' +
      'first ones and check again. Omitted errors still count: with at least one error, the ' +
      'input is rejected.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- { nam: one }\n- { nam: two }\n# … and a thousand more`,
      right: `${GATEWAY}routes:\n- { name: one }\n- { name: two }\n# … and a thousand more`,
      sketch: true,
    },
  },
])
