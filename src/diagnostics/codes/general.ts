import { defineCodes } from './define.ts'

export const GENERAL_CODES = defineCodes('PC00', 'General', [
  {
    code: 'PC0001',
    severity: 'info',
    title: 'further messages are left out',
    explanation:
      'One input gave more messages than anyone reads, so only the first of them are shown. ' +
      'Very often they share one cause, such as a wrong indentation or a misspelt name near the ' +
      'top of the file. Mend the first ones and check again; nothing was accepted because its ' +
      'message was left out.',
    example: {
      language: 'yaml',
      wrong: 'routs:\n- name: one\n- name: two\n# … and a thousand more',
      right: 'routes:\n- name: one\n- name: two\n# … and a thousand more',
      sketch: true,
    },
  },
])
