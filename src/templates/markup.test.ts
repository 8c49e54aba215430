import { expect, test } from 'vitest'
import { checkHtml } from '../platform/html/rules.ts'
import { markupOf, problemsOfMarkup } from './markup.ts'

const problemsOf = (html: string) => problemsOfMarkup(checkHtml(markupOf(html))).map(({ message }) => message)

test.each([
  ['<p>{{ name }}</p><script>1</script>', /<script> is not allowed \(HTML_SCRIPT\)/],
  ['{% if vip %}<p>x</p>{% else %}<iframe src="https://x.example">{% endif %}', /HTML_FORBIDDEN_ELEMENT/],
  ['<p onclick="{{ code }}">x</p>', /HTML_EVENT_HANDLER/],
  ['{% raw %}<script>{{ x }}</script>{% endraw %}', /HTML_SCRIPT/],
])('%s is refused, whatever its values are', (html, message) => {
  expect(problemsOf(html)).toEqual([expect.stringMatching(message)])
})

test.each([
  '<a href="{{ url }}">{{ name | default: "<script>" }}</a>',
  '<a href="https://shop.example/{{ id }}" style="color: {{ color }}">x</a><img src="cid:{{ logo }}">',
  '{% comment %}<script>1</script>{% endcomment %}<p>x</p>',
  '<table>{% for row in rows %}<tr><td>{{ row.name }}</td></tr>{% endfor %}</table>',
])('%s depends on its values', html => {
  expect(problemsOf(html)).toEqual([])
})
