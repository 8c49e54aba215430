// Runs inside the page and answers the texts whose contrast with what is behind them is below the 4.5 : 1 of WCAG AA.
;(() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const probe = document.body.appendChild(document.createElement('i'))
  probe.style.color = 'Canvas'
  const canvas = toRgba(getComputedStyle(probe).color)
  probe.remove()

  const texts = [...document.body.querySelectorAll('*')].filter(element => {
    const own = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.textContent.trim())
    return own && element.checkVisibility() && !element.closest('style, script')
  })
  return texts.flatMap(element => {
    const ratio = contrast(colourOf(element), behind(element))
    const text = element.textContent.trim().slice(0, 40)
    return ratio < 4.5 ? [`${element.tagName.toLowerCase()} "${text}" ${ratio.toFixed(1)}`] : []
  })

  function toRgba(colour) {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data
    return [r, g, b, a / 255]
  }

  function ancestors(element) {
    return element.parentElement ? [element, ...ancestors(element.parentElement)] : [element]
  }

  function over(front, back) {
    const alpha = front[3]
    return [0, 1, 2].map(i => front[i] * alpha + back[i] * (1 - alpha)).concat(1)
  }

  function behind(element) {
    const layers = ancestors(element).map(one => toRgba(getComputedStyle(one).backgroundColor))
    return layers.reduceRight((back, layer) => over(layer, back), canvas)
  }

  function colourOf(element) {
    const [r, g, b, alpha] = toRgba(getComputedStyle(element).color)
    const opacity = ancestors(element).reduce((product, one) => product * Number(getComputedStyle(one).opacity), 1)
    return over([r, g, b, alpha * opacity], behind(element))
  }

  function luminance(colour) {
    const [r, g, b] = colour.map(value => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }

  function contrast(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
})()
