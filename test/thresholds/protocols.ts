import type { Group } from './threshold.ts'

const FULL = Number.POSITIVE_INFINITY

export const PROTOCOLS: readonly Group[] = [
  {
    name: 'models',
    tests: [
      'src/protocols/llm/{json,long-events,reading}.test.ts',
      'src/protocols/llm/guards/*.test.ts',
      'src/protocols/{long-json,json-strings,json-text}.test.ts',
      'test/fuzz/guarded-parts.test.ts',
    ],
    except: [
      'is processed in pieces, and a short one at once',
      'includes many short ones',
      'grows linearly with its length',
      'are visited in steps, and nothing else changes',
      'stays within the search effort',
      'is split between characters',
      'is rejected in the piece with the finding',
      'fails the stream if it has too many values',
      'is not read',
      'a long string of a provider',
    ],
    thresholds: [
      {
        file: 'src/protocols/json-elements.ts',
        tests: ['end - first < STEP'],
        switches: 'elements are parsed together → in several steps',
      },
      {
        file: 'src/protocols/json-strings.ts',
        tests: ['count % STEP === 0'],
        constant: 'STEP',
        switches: 'one step → several',
        values: [1, 2, FULL],
      },
      {
        file: 'src/protocols/llm/guards/masker.ts',
        tests: ['text.length > STEP'],
        declaredIn: 'src/protocols/llm/guards/candidates.ts',
        switches: 'text is searched at once → in steps',
        values: [512, 1_024, FULL],
      },
      {
        file: 'src/protocols/llm/guards/guard-messages.ts',
        tests: ['letters < STEP'],
        declaredIn: 'src/protocols/llm/guards/candidates.ts',
        switches: 'more texts in one turn → the next turn',
        values: [512, 1_024, FULL],
      },
      {
        file: 'src/protocols/llm/json.ts',
        tests: ['++numberLength > 15'],
        switches: 'JSON.parse → JSON.parse that keeps the digits',
        values: [0, 1, 15],
      },
      {
        file: 'src/protocols/llm/json.ts',
        tests: ['digits.length <= 15'],
        switches: 'number → text of the number',
        values: [0, 1, 15],
      },
      {
        file: 'src/protocols/llm/long-events.ts',
        tests: ['events.length > MAX_EVENTS'],
        switches: 'at once → in turns',
      },
      {
        file: 'src/protocols/llm/long-events.ts',
        tests: ['letters > MAX_PIECE', 'event.text.length <= MAX_PIECE'],
        switches: 'one text → several pieces',
        values: [FULL, 3, 2],
      },
      {
        file: 'src/protocols/long-json.ts',
        tests: ['text.length > FEW_LETTERS'],
        switches: 'read at once → in steps',
      },
    ],
  },
  {
    name: 'tools',
    tests: ['src/protocols/mcp/*.test.ts', 'test/proxy/mcp-{guards,pins}.test.ts'],
    except: [
      'guards of long messages',
      'is filtered at once if it is short',
      'is read and filtered in steps if it is long',
      'is rejected, and no part of it is forwarded',
      'of a server that keeps listing new ones are evicted',
    ],
    thresholds: [
      {
        file: 'src/protocols/mcp/collect.ts',
        tests: ['text.length <= MAX_AT_ONCE'],
        switches: 'read at once → in turns',
      },
      {
        file: 'src/protocols/mcp/guarded-server.ts',
        tests: ['text.length <= MAX_AT_ONCE', '(text?.length ?? 0) <= MAX_AT_ONCE'],
        switches: 'at once → in turns',
      },
      {
        file: 'src/protocols/mcp/lists.ts',
        tests: ['text.length > MAX_AT_ONCE'],
        switches: 'at once → in turns',
      },
      {
        file: 'src/protocols/mcp/names.ts',
        tests: ['this.#shortened.size >= MAX_SHORTENED'],
        switches: 'names are kept → removed',
      },
    ],
  },
]
