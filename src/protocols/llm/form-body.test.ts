import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { readForm } from './form-body.ts'

const TYPE = 'multipart/form-data; boundary=xYz'

function field(name: string, value: string, more = ''): string {
  return `--xYz\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`
}

const MODEL = field('model', 'gpt-x')
const FILE = field('file', 'RIFF\r\n--\r\n\0\xff', '; filename="a.wav"\r\nContent-Type: audio/wav')
const END = '--xYz--\r\n'

function read(form: string, type = TYPE) {
  return readForm(Buffer.from(form, 'latin1'), type)
}

function fieldsOf(form: string, type?: string) {
  const result = read(form, type)
  assert.ok(result.ok, JSON.stringify(result))
  return result.value.fields
}

describe('form fields', () => {
  it('are read before and after files', () => {
    for (const form of [MODEL + FILE + END, FILE + MODEL + END, MODEL + FILE + END.trim()]) {
      assert.deepEqual(fieldsOf(form), { model: 'gpt-x' })
    }
  })

  it('have the types of JSON', () => {
    const parts: readonly (readonly [name: string, value: string])[] = [
      ['model', 'gpt-x'],
      ['n', '9'],
      ['temperature', '0.5'],
      ['stream', 'true'],
      ['user', '123'],
      ['prompt', 'Grüße\r\n'],
      ['include[]', 'a'],
      ['include[]', 'b'],
      ['chunking_strategy[type]', 'server_vad'],
      ['chunking_strategy[threshold]', '1'],
      ['__proto__', 'x'],
    ]
    const form = `${parts.map(([name, value]) => field(name, value)).join('')}${END}`
    const result = readForm(Buffer.from(form), TYPE)
    assert.ok(result.ok)
    const expected = {
      model: 'gpt-x',
      n: 9,
      temperature: 0.5,
      stream: true,
      user: '123',
      prompt: 'Grüße\r\n',
      include: ['a', 'b'],
      chunking_strategy: { type: 'server_vad', threshold: '1' },
    }
    assert.deepEqual({ ...result.value.fields }, { ...expected, ['__proto__']: 'x' })
  })

  it('are read in the syntax of real clients', () => {
    const same: readonly (readonly [form: string, type?: string])[] = [
      [MODEL + END, 'Multipart/Form-Data;boundary="xYz"'],
      [MODEL + END, 'multipart/form-data; charset=UTF-8; boundary=xYz'],
      [MODEL + END, 'multipart/form-data; boundary=xYz; charset=utf-8'],
      // .NET
      [
        MODEL.replace('"model"', 'model').replace(
          '\r\n\r\n',
          '\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n',
        ) + END,
      ],
      [`${field('file', 'x', "; filename=a.wav; filename*=utf-8''a.wav")}${MODEL}${END}`],
      // OkHttp
      [MODEL.replace('\r\n\r\n', '\r\nContent-Length: 5\r\n\r\n') + END],
      [MODEL.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: binary\r\n\r\n') + END],
      [
        `${field('image[]', 'x', '; filename="Grüße (1), 2.png"')}${field('image[]', 'x', '; filename="b"')}${MODEL}${END}`,
      ],
    ]
    for (const [form, type] of same) {
      const result = readForm(Buffer.from(form), type ?? TYPE)
      assert.deepEqual(result.ok ? result.value.fields : result, { model: 'gpt-x' }, form)
    }
  })

  it('of files are only searched for the boundary', () => {
    const file = `${'\r\n\r\nContent-Disposition: form-data; name="model"\r\n\r\ngpt-y'.repeat(3)}\r\n--xYt`
    const form = `${MODEL}${field('file', file, '; filename="a"')}${END}`
    assert.deepEqual(fieldsOf(form), { model: 'gpt-x' })
  })
})

/** Forms that two parsers may read differently. */
const AMBIGUOUS: Readonly<Record<string, string | readonly [form: string, type: string]>> = {
  'two models': MODEL + field('model', 'gpt-y') + END,
  'the same model twice': MODEL + MODEL + END,
  'a model as a file': MODEL + field('model', 'gpt-y', '; filename="a"') + END,
  'only a model as a file': field('model', 'gpt-y', '; filename="a"') + END,
  'an empty filename': field('model', 'gpt-y', '; filename=""') + END,
  'an encoded filename alone': field('file', 'x', "; filename*=utf-8''a") + MODEL + END,
  'another spelling of the name': MODEL + field('Model', 'gpt-y') + END,
  'a list of models': MODEL + field('model[]', 'gpt-y') + END,
  'a member of a model': MODEL + field('model[0]', 'gpt-y') + END,
  'an encoded name': MODEL + field('model', 'gpt-y', "; name*=utf-8''model") + END,
  'only an encoded name': `${MODEL}${field('a', 'gpt-y').replace('name="a"', "name*=utf-8''model")}${END}`,
  'two names': MODEL + field('a', 'gpt-y', '; name="model"') + END,
  'a name in two pieces': `${MODEL}${field('a', 'gpt-y').replace('name="a"', 'name*0="mo"; name*1="del"')}${END}`,
  'a name with an escape': MODEL + field('mod\\el', 'gpt-y') + END,
  'a name in a filename': MODEL + field('file', 'gpt-y', '; filename="a; name=model"') + END,
  'a quote in a filename': MODEL + field('file', 'gpt-y', '; filename="a\\"; name="model"') + END,
  'a name with spaces': MODEL + field('model ', 'gpt-y') + END,
  'a name with a line end': MODEL + field('model\r\nx', 'gpt-y') + END,
  'a name with percents': MODEL + field('model%5B%5D', 'gpt-y') + END,
  'no name': `${MODEL}${field('a', 'x').replace('; name="a"', '')}${END}`,
  'an empty name': MODEL + field('', 'x') + END,
  'no disposition': `${MODEL}--xYz\r\nContent-Type: text/plain\r\n\r\nx\r\n${END}`,
  'two dispositions': `${MODEL}${field('a', 'x', '\r\ncontent-disposition: form-data; name="model"')}${END}`,
  'another disposition': `${MODEL}${field('a', 'x').replace('form-data;', 'attachment;')}${END}`,
  'a folded header': MODEL + field('a', 'x', ';\r\n name="model"') + END,
  'a header that ends with LF': `${MODEL}${field('a', 'x', '\nX: y')}${END}`,
  'a header that ends with CR': `${MODEL}${field('a', 'x', '\rContent-Type: text/plain')}${END}`,
  'a header that ends otherwise': `${MODEL}${field('a', 'x', '\xc2\x85X: y')}${END}`,
  'a header with a space before the colon': `${MODEL}${field('a', 'x').replace('Disposition:', 'Disposition :')}${END}`,
  'an unknown header': `${MODEL}${field('a', 'x', '\r\nX-Name: model')}${END}`,
  'a preamble': `hello\r\n${MODEL}${END}`,
  'an empty line first': `\r\n${MODEL}${END}`,
  'a form in the preamble': `\n${field('model', 'gpt-y')}\r\n${MODEL}${END}`,
  'an epilogue': `${MODEL}${END}hello`,
  'a form in the epilogue': `${MODEL}${END}${field('model', 'gpt-y')}${END}`,
  'no last boundary': MODEL,
  'half a last boundary': `${MODEL}--xYz-`,
  nothing: '',
  'a boundary after LF': `${MODEL}${field('a', 'x').replace(/x\r\n$/, `x\n${field('model', 'gpt-y')}`)}${END}`,
  'a boundary with spaces after it': `${MODEL}${field('a', 'x').replace('--xYz', '--xYz ')}${END}`,
  'a boundary inside of a line': `${MODEL}${field('file', `a${field('model', 'gpt-y')}`, '; filename="a"')}${END}`,
  'a longer boundary': `${MODEL}${field('file', `a\r\n--xYzz\r\n`, '; filename="a"')}${END}`,
  'a boundary that ends before the end': `${MODEL}${field('file', 'a\r\n--xYz--b', '; filename="a"')}${END}`,
  'a nested form': `${MODEL}${field('a', 'x', '\r\nContent-Type: multipart/mixed; boundary=q')}${END}`,
  'a message': `${MODEL}${field('file', 'x', '; filename="a"\r\nContent-Type: message/rfc822')}${END}`,
  'a coded part': `${field('model', 'Z3B0LXk=', '\r\nContent-Transfer-Encoding: base64')}${END}`,
  'a quoted-printable part': `${field('model', 'gpt=2Dy', '\r\nContent-Transfer-Encoding: quoted-printable')}${END}`,
  'another charset': `${field('model', 'gpt-x', '\r\nContent-Type: text/plain; charset=utf-16')}${END}`,
  'another type': `${field('model', 'gpt-x', '\r\nContent-Type: application/octet-stream')}${END}`,
  'a field that names a charset': MODEL + field('_charset_', 'utf-16') + END,
  'a wrong length': `${field('model', 'gpt-x', '\r\nContent-Length: 3')}${END}`,
  'a wrong length of a file': `${MODEL}${field('file', `abc`, '; filename="a"\r\nContent-Length: 99')}${END}`,
  'a model with spaces': field('model', ' gpt-x') + END,
  'a model with a line end': field('model', 'gpt-x\r\n') + END,
  'a model with NUL': field('model', 'gpt-x\0') + END,
  'a model that is not ASCII': field('model', 'gpt-\xc3\xbc') + END,
  'an empty model': field('model', '') + END,
  'a parameter as a file': MODEL + field('n', '9', '; filename="a"') + END,
  'a parameter in two spellings': MODEL + field('n', '1') + field('n[]', '9') + END,
  'a parameter twice': MODEL + field('n', '1') + field('n', '9') + END,
  'a number in another spelling': MODEL + field('n', '0x9') + END,
  'a field that is not UTF-8': MODEL + field('prompt', '\xff') + END,
  'no boundary': [MODEL + END, 'multipart/form-data'],
  'two boundaries': [MODEL + END, 'multipart/form-data; boundary=a; boundary=xYz'],
  'two types': [MODEL + END, 'multipart/form-data; boundary=xYz, multipart/form-data; boundary=a'],
  'an escaped boundary': [MODEL + END, 'multipart/form-data; boundary="x\\Yz"'],
  'an encoded boundary': [MODEL + END, "multipart/form-data; boundary*=utf-8''xYz"],
  'a boundary in two pieces': [MODEL + END, 'multipart/form-data; boundary*0=x; boundary*1=Yz'],
  'a boundary with a space': [MODEL + END, 'multipart/form-data; boundary="xYz "'],
  'an odd boundary without quotes': [
    MODEL.replaceAll('xYz', 'x:Y') + END,
    'multipart/form-data; boundary=x:Y',
  ],
  'an empty boundary': [MODEL + END, 'multipart/form-data; boundary=""'],
  'an unknown parameter': [MODEL + END, 'multipart/form-data; boundary=xYz; x=y'],
  'a charset of the form': [MODEL + END, 'multipart/form-data; boundary=xYz; charset=utf-16'],
  'another kind of form': [MODEL + END, 'multipart/mixed; boundary=xYz'],
}

describe('a form that parsers may read differently', () => {
  for (const [title, given] of Object.entries(AMBIGUOUS)) {
    it(`is rejected: ${title}`, () => {
      const result = typeof given === 'string' ? read(given) : read(...given)
      assert.equal(result.ok, false, JSON.stringify(result))
    })
  }

  it('is rejected if truncated anywhere', () => {
    const whole = MODEL + FILE + END.trim()
    for (let i = 0; i < whole.length; i++) assert.equal(read(whole.slice(0, i)).ok, false, `${i}`)
  })

  it('is rejected, or read the same by others, after any change', async () => {
    const bytes = fc.constantFrom(
      '\r\n',
      '\n',
      '\r',
      '--xYz',
      '--',
      ' ',
      ';',
      '"',
      '\\',
      ':',
      '=',
      '\0',
      'model',
      'name="model"',
      '; filename="f"',
      '\r\n\r\n',
      'a',
    )
    const edit = fc.record({
      at: fc.nat(400),
      removed: fc.nat(6),
      added: fc.array(bytes, { maxLength: 3 }),
    })
    const base = fc.constantFrom(MODEL + FILE + END, FILE + field('n', '2') + MODEL + END)
    await fc.assert(
      fc.asyncProperty(
        base,
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        async (form, edits) => {
          let text = form
          for (const { at, removed, added } of edits) {
            const start = at % (text.length + 1)
            text = text.slice(0, start) + added.join('') + text.slice(start + removed)
          }
          const result = read(text)
          if (!result.ok) return
          const model = result.value.fields['model']
          for (const found of await readByOthers(text)) {
            assert.deepEqual(found, model === undefined ? [] : [model], JSON.stringify(text))
          }
        },
      ),
      { numRuns: 3_000 },
    )
  })
})

/** The models that other parsers find: Node.js's own, and one that accepts nearly everything. */
async function readByOthers(text: string): Promise<readonly (readonly string[])[]> {
  const headers = { 'content-type': TYPE }
  const theirs = await new Response(Buffer.from(text, 'latin1'), { headers }).formData().then(
    (form) => [form.getAll('model') as readonly string[]],
    // It rejects some forms that the gateway accepts.
    () => [],
  )
  const lenient = text.split(/(?:^|[\r\n]+)--xYz/).flatMap((part) => {
    const [head = '', ...rest] = part.split(/\r?\n\r?\n/)
    return /name\*?\s*=[^\w;]*model(?![\w-])/i.test(
      head.replace(/filename[*]?=(?:"[^"]*"|[^;\r\n]*)/g, ''),
    )
      ? [rest.join('\n\n')]
      : []
  })
  return [...theirs, lenient]
}

describe('a model in a form', () => {
  const renamed = (form: string, model: string) => {
    const result = read(form)
    assert.ok(result.ok)
    const bytes = result.value.withModel(model)
    return bytes && Buffer.from(bytes).toString('latin1')
  }

  it('is replaced in place', () => {
    assert.equal(renamed(FILE + MODEL + END, 'real'), FILE + field('model', 'real') + END)
    const sized = (name: string) => field('model', name, `\r\nContent-Length: ${name.length}`)
    assert.equal(
      renamed(FILE + sized('gpt-x') + END, 'a-long-name'),
      FILE + sized('a-long-name') + END,
    )
  })

  it('is added if the path names it', () => {
    assert.equal(renamed(FILE + END, 'real'), field('model', 'real') + FILE + END)
  })

  it('is not written if it would break the form', () => {
    for (const name of ['a\r\n--xYz', 'a b', '', 'a--xYz', 'ü']) {
      assert.equal(renamed(MODEL + END, name), undefined, name)
    }
  })
})
