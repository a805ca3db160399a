from capeval.cli import main

main()
