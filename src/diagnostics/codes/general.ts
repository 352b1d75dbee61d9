import { defineCodes } from './define.ts'

const GATEWAY = 'gateways:\n  default: { port: 8080 }\n'

export const GENERAL_CODES = defineCodes('PC00', 'General', [
  {
    code: 'PC0001',
    severity: 'info',
    title: 'further messages are left out',
    explanation:
      'At most 1,000 messages are shown for one input: the first ones, and errors before warnings. ' +
      'So many often share one cause, such as a list that was written with a wrong word in every ' +
      'entry. Fix the first ones and check again. Nothing is accepted because its message was ' +
      'left out: with one error or more the whole input is rejected.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}routes:\n- { nam: one }\n- { nam: two }\n# … and a thousand more`,
      right: `${GATEWAY}routes:\n- { name: one }\n- { name: two }\n# … and a thousand more`,
      sketch: true,
    },
  },
])
