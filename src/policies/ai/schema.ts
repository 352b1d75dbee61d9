import * as z from 'zod'
import { anything, choice } from '../scalars.ts'

const fields = (what: string) =>
  z
    .record(
      z
        .string()
        .min(1)
        .max(256)
        // The first would go around `modelAliases` and the second around what the client reads.
        .refine((name) => name !== 'model' && name !== 'stream', {
          message: '`model` and `stream` cannot be set here',
        }),
      anything,
    )
    .optional()
    .describe(what)

const message = z.strictObject({
  role: choice('system', 'user', 'assistant').describe('Who speaks.'),
  content: z.string().min(1).max(65_536).describe('The text.'),
})

const messages = (what: string) => z.array(message).min(1).max(16).optional().describe(what)

export const ai = z
  .strictObject({
    defaults: fields('Fields of the request that are set if the client did not set them.'),
    overrides: fields('Fields of the request that are set whatever the client says.'),
    prompts: z
      .strictObject({
        prepend: messages('Before all messages; system prompts before those of the client.'),
        append: messages('After all messages; system prompts after those of the client.'),
      })
      .optional()
      .describe('Messages that are added to each call that makes a model write.'),
    modelAliases: z
      .record(z.string().min(1).max(256), z.string().min(1).max(256))
      .optional()
      .describe(
        'The name of a model as clients use it → the model that the provider is called for. ' +
          'Rules read the name that the client used.',
      ),
  })
  .describe(
    'What is changed in calls to models, in the words of the API that the client uses. Those of ' +
      'all levels apply: for the same field or alias the most specific counts, and messages of ' +
      'the most general level are the outermost.',
  )

export type Ai = z.output<typeof ai>
export type AddedMessage = z.output<typeof message>
