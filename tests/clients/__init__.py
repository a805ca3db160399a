"""Small programs that call captioning scorers as well-known code bases do. Each has
`scores(references, results)`: id -> references and id -> caption in, name -> number out."""
