import * as z from 'zod'
import { scalar } from '../scalars.ts'

export interface A2a {
  /** Without a slash at its end. */
  readonly publicUrl?: string
}

const publicUrl = scalar<string>({
  what: 'a URL',
  hint: 'write `https://agents.example.com`, without a query',
  maxLength: 2048,
  parse: (text) => {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined
    if (url.search !== '' || url.hash !== '' || url.username !== '') return undefined
    return url.href.replace(/\/+$/, '')
  },
})

export const a2a = z
  .strictObject({
    publicUrl: publicUrl
      .optional()
      .describe(
        'The scheme and host that agent cards name, as clients reach the gateway; by default those ' +
          'of the request.',
      ),
  })
  .transform((value): A2a => value as A2a)
  .describe(
    'The backend is an A2A agent: its messages are read for rules (`a2a.method`, …), and its cards ' +
      'name the address of the gateway.',
  )
